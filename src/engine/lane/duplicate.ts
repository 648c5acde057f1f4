import type { Attempt } from '../../core/transaction/transaction.js';
import type { LaneContext } from './lane-context.js';

/**
 * Why a version that stands alone may not go out yet: another transaction of ours says the very same, so that both would be one on chain, and one of them
 * would not be paid. Null: none does. `others`: versions that are about to be stored.
 */
export async function duplicateOf(
  lane: LaneContext,
  { transactionId, hash, nonce }: Attempt,
  others: readonly Attempt[],
): Promise<string | null> {
  if (nonce !== null) return null;
  const owner =
    others.find((other) => other.hash === hash)?.transactionId ?? (await lane.deps.store.read.transactionIdOf(lane.id.chain, hash));
  if (owner === undefined || owner === transactionId) return null;
  return `waiting: transaction ${owner} says the very same, down to its signature`;
}
