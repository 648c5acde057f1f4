import { nullIfUnavailable } from '../../core/errors/unavailable.js';
import type { Head } from '../../core/ports/chain/head.js';
import type { SenderUse } from '../../core/ports/chain/outcomes.js';
import type { Sequence } from '../../core/ports/chain/slots.js';
import { ConflictError } from '../../core/ports/store/change.js';
import { isRestored, isSigned, type Transaction } from '../../core/records/transaction.js';
import { paidByCaller } from '../../core/transaction/lifecycle.js';
import type { LaneContext } from './lane-context.js';
import { proveUse } from './prove-use.js';

/** This many nonces are searched when the chain shows that many were used: each search takes about twenty calls. */
const maxSearched = 8n;
/** This many nonces before the first that a lane takes are searched for the first that was used while its transactions waited. */
const newestSearched = 1_024n;
/** By how much the time of a block may be before that of an instance's clock, if a signed nonce says which others are later. */
const clockSlackMs = 600_000;
/** The same if the lane never signed: a program that used the key until a moment ago, such as an earlier relayer, often paid the same. */
const newLaneSlack = { ms: 2_000, blocks: 2 };

/**
 * Says how a transaction of our key that no attempt explains did what one of these transactions asks for; null: it did not, or an operator
 * has accepted it since. It used a nonce that was free when one of these was signed, or is from after each of them was accepted.
 *
 * - `lost`: the database lacks that attempt, so it has gone back in time, and would pay again. The finding is stored, and signing stops.
 * - the id of a transaction: the service signed the foreign one for a caller, and it stands for this one, which must fail.
 *
 * Another program may use the key too, so a foreign transaction alone shows nothing.
 */
export async function whoPaidBefore(
  lane: LaneContext,
  user: SenderUse,
  unpaid: Iterable<Transaction>,
): Promise<'lost' | { readonly id: string } | null> {
  for (const transaction of unpaid) {
    if (!didSame(user, transaction)) continue;
    const { id } = transaction;
    const { deps, relayer } = lane;
    const signature = await deps.store.read.callerSignature(user.hash);
    if (signature !== undefined) return signature.transactionId === null ? { id } : null;
    const evidence = `transaction ${user.hash} of account ${lane.id.account} did what transaction ${id} of relayer ${relayer().id} asks for, and no stored attempt explains it`;
    try {
      await deps.store.commit([deps.store.change.recordRewind(evidence, user.hash)]);
      return 'lost';
    } catch (error) {
      if (error instanceof ConflictError) return null;
      throw error;
    }
  }
  return null;
}

/** True if a transaction of our key did what this one asks for. */
function didSame(user: SenderUse, transaction: Transaction): boolean {
  return transaction.intent === 'content' && !isRestored(transaction) && user.does(transaction.content);
}

/** True if a block of this time is from before a request that was accepted then. */
function isBefore({ numbers, relayer }: LaneContext, timeMs: number, acceptedAtMs: number): boolean {
  const newLaneSlackMs = newLaneSlack.ms + newLaneSlack.blocks * relayer().network.averageBlockTimeMs;
  return timeMs < acceptedAtMs - (numbers.signed === 0n ? newLaneSlackMs : clockSlackMs);
}

/**
 * Says whether one of the transactions that used nonces from ours up to `next` shows that; see `whoPaidBefore`. Searches the lowest ones:
 * those after them may be of requests that the database lacks too. `unanswered`: no node answered, which says nothing. `unproved`: one of
 * them seems to show it, and is not proved to be in its block, or of that time, yet.
 */
export async function paidBelow(
  lane: LaneContext,
  sequence: Sequence,
  head: Head,
  next: bigint,
): Promise<'paid' | 'unpaid' | 'unanswered' | 'unproved'> {
  const waiting = () => [...lane.transactions.waiting()].flatMap(({ open }) => open?.transaction ?? []);
  if (waiting().length === 0) return 'unpaid';
  let isUnanswered = false;
  let isUnproved = false;
  const userOf = async (nonce: bigint): Promise<SenderUse | null> => {
    const user = await sequence.findSender(lane.id.account, nonce, { from: 0n, to: head.number }).catch(nullIfUnavailable);
    isUnanswered ||= user === null;
    return typeof user === 'object' ? user : null;
  };
  const sinceMs = Math.min(...waiting().map(({ createdAtMs }) => createdAtMs));
  let isAnyTimeOpen = false;
  const isSince = async (nonce: bigint): Promise<boolean> => {
    const user = await userOf(nonce);
    if (user === null) return false;
    const timeMs = await user.timeMs().catch(nullIfUnavailable);
    isAnyTimeOpen ||= timeMs === null;
    return timeMs === null || !isBefore(lane, timeMs, sinceMs);
  };
  const first = lane.numbers.signed === 0n ? await firstSince(isSince, next) : lane.numbers.next;
  // Then it may be too low, so that the search ends before the nonces that count.
  isUnproved ||= isAnyTimeOpen && next - first > maxSearched;
  for (let nonce = first; nonce < next && nonce < first + maxSearched; nonce += 1n) {
    const user = await userOf(nonce);
    const [same] = user === null ? [] : waiting().filter((one) => didSame(user, one));
    if (user === null || same === undefined) continue;
    const proof = await proveUse(lane, sequence, head, user, same.id).catch(nullIfUnavailable);
    const timeMs = proof === 'proved' ? await user.timeMs().catch(nullIfUnavailable) : null;
    isUnproved ||= proof !== 'refuted' && timeMs === null;
    const since = waiting().filter(({ createdAtMs }) => timeMs !== null && !isBefore(lane, timeMs, createdAtMs));
    const paid = await whoPaidBefore(lane, user, since);
    if (paid === 'lost') return 'paid';
    if (paid === null) continue;
    const { hash } = user;
    await lane.records.move(paid.id, ({ transaction }) =>
      isSigned(transaction) ? null : { steps: [paidByCaller(transaction, hash)], usedSignature: hash },
    );
  }
  return isUnproved ? 'unproved' : isUnanswered ? 'unanswered' : 'unpaid';
}

/**
 * Returns the lowest of the newest nonces below `next` that was used since the requests. A lane that never signed has no nonce of its own,
 * and the account may have been used by others for long.
 */
async function firstSince(isSince: (nonce: bigint) => Promise<boolean>, next: bigint): Promise<bigint> {
  // Mostly there is nothing since.
  if (next === 0n || !(await isSince(next - 1n))) return next;
  let since = next - 1n;
  let before = next > newestSearched ? next - newestSearched : 0n;
  while (before < since) {
    const middle = (before + since) / 2n;
    if (await isSince(middle)) since = middle;
    else before = middle + 1n;
  }
  return since;
}
