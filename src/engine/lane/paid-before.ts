import { nullIfUnavailable } from '../../core/errors/unavailable.js';
import type { Head, SenderUse, Sequence } from '../../core/ports/chain.js';
import { ConflictError } from '../../core/ports/store/change.js';
import type { Transaction } from '../../core/records/transaction.js';
import type { LaneContext } from './lane-context.js';

/** This many nonces are searched when the chain shows that many were used: each search takes about twenty calls. */
const maxSearched = 8n;

/**
 * True if a transaction of our key that no attempt explains did what one of these transactions asks for: the database lacks that attempt,
 * so it has gone back in time, and would pay again. The finding is stored, and signing stops. False if an operator has accepted the
 * transaction since.
 *
 * Another program may use the key too, so a foreign transaction alone shows nothing.
 */
export async function isPaidBefore(lane: LaneContext, user: SenderUse, unpaid: Iterable<Transaction>): Promise<boolean> {
  for (const { id, intent, content, failureReason } of unpaid) {
    // A restored transaction gets no other nonce.
    if (intent !== 'content' || failureReason !== null || !user.does(content)) continue;
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

/** True if one of the transactions that used nonces from ours up to `next` shows that; see `isPaidBefore`. Searches the lowest ones. */
export async function isPaidBelow(lane: LaneContext, sequence: Sequence, head: Head, next: bigint): Promise<boolean> {
  const waiting = () => [...lane.transactions.waiting()].flatMap(({ open }) => open?.transaction ?? []);
  if (waiting().length === 0) return false;
  const first = lane.numbers.next;
  for (let nonce = first; nonce < next && nonce < first + maxSearched; nonce += 1n) {
    const user = await sequence.findSender(lane.id.account, nonce, { from: 0n, to: head.number }).catch(nullIfUnavailable);
    if (typeof user === 'object' && user !== null && (await isPaidBefore(lane, user, waiting()))) return true;
  }
  return false;
}
