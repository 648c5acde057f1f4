import { nullIfUnavailable } from '../../core/errors/unavailable.js';
import type { Head } from '../../core/ports/chain/head.js';
import type { SenderUse } from '../../core/ports/chain/outcomes.js';
import type { Sequence } from '../../core/ports/chain/slots.js';
import { ConflictError } from '../../core/ports/store/change.js';
import { isRestored, type Transaction } from '../../core/records/transaction.js';
import type { LaneContext } from './lane-context.js';

/** This many nonces are searched when the chain shows that many were used: each search takes about twenty calls. */
const maxSearched = 8n;
/** This many nonces before the first that a lane takes are searched for the first that was used while its transactions waited. */
const newestSearched = 1_024n;
/** By how much the time of a block may be before that of an instance's clock, if a signed nonce says which others are later. */
const clockSlackMs = 600_000;
/** The same if the lane never signed: a program that used the key until a moment ago, such as an earlier relayer, often paid the same. */
const newLaneSlack = { ms: 2_000, blocks: 2 };

/**
 * True if a transaction of our key that no attempt explains did what one of these transactions asks for: the database lacks that attempt,
 * so it has gone back in time, and would pay again. The finding is stored, and signing stops. False if an operator has accepted the
 * transaction since.
 *
 * Another program may use the key too, so a foreign transaction alone shows nothing, nor does one from before the request was accepted.
 */
export async function isPaidBefore(lane: LaneContext, user: SenderUse, unpaid: Iterable<Transaction>): Promise<boolean> {
  for (const transaction of unpaid) {
    const { id, intent, content, createdAtMs } = transaction;
    if (intent !== 'content' || isRestored(transaction) || isBefore(lane, user, createdAtMs) || !user.does(content)) continue;
    const { deps, relayer } = lane;
    const evidence = `transaction ${user.hash} of account ${lane.id.account} did what transaction ${id} of relayer ${relayer().id} asks for, and no stored attempt explains it`;
    try {
      await deps.store.commit([deps.store.change.recordRewind(evidence, user.hash)]);
      return true;
    } catch (error) {
      if (error instanceof ConflictError) return false;
      throw error;
    }
  }
  return false;
}

/** True if the block of a transaction is from before this time. */
function isBefore({ numbers, relayer }: LaneContext, { timeMs }: SenderUse, sinceMs: number): boolean {
  const newLaneSlackMs = newLaneSlack.ms + newLaneSlack.blocks * relayer().network.averageBlockTimeMs;
  return timeMs !== null && timeMs < sinceMs - (numbers.signed === 0n ? newLaneSlackMs : clockSlackMs);
}

/**
 * Says whether one of the transactions that used nonces from ours up to `next` shows that; see `isPaidBefore`. Searches the lowest ones:
 * those after them may be of requests that the database lacks too. `unanswered`: no node answered, which says nothing.
 */
export async function paidBelow(
  lane: LaneContext,
  sequence: Sequence,
  head: Head,
  next: bigint,
): Promise<'paid' | 'unpaid' | 'unanswered'> {
  const waiting = () => [...lane.transactions.waiting()].flatMap(({ open }) => open?.transaction ?? []);
  if (waiting().length === 0) return 'unpaid';
  let isUnanswered = false;
  const userOf = async (nonce: bigint): Promise<SenderUse | null> => {
    const user = await sequence.findSender(lane.id.account, nonce, { from: 0n, to: head.number }).catch(nullIfUnavailable);
    isUnanswered ||= user === null;
    return typeof user === 'object' ? user : null;
  };
  const sinceMs = Math.min(...waiting().map(({ createdAtMs }) => createdAtMs));
  const first = lane.numbers.signed === 0n ? await firstSince(lane, userOf, next, sinceMs) : lane.numbers.next;
  for (let nonce = first; nonce < next && nonce < first + maxSearched; nonce += 1n) {
    const user = await userOf(nonce);
    if (user !== null && (await isPaidBefore(lane, user, waiting()))) return 'paid';
  }
  return isUnanswered ? 'unanswered' : 'unpaid';
}

/**
 * Returns the lowest of the newest nonces below `next` that was used at this time or later. A lane that never signed has no nonce of its
 * own, and the account may have been used by others for long.
 */
async function firstSince(
  lane: LaneContext,
  userOf: (nonce: bigint) => Promise<SenderUse | null>,
  next: bigint,
  sinceMs: number,
): Promise<bigint> {
  const isSince = async (nonce: bigint): Promise<boolean> => {
    const user = await userOf(nonce);
    return user !== null && !isBefore(lane, user, sinceMs);
  };
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
