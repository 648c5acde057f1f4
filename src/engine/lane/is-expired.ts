import { blockTimeMsOf, type Head } from '../../core/ports/chain/head.js';
import type { Transaction } from '../../core/records/transaction.js';
import type { LaneContext } from './lane-context.js';

/** True if `valid_until` has passed and the lane has not acted on it yet: the content must not be broadcast or bumped any more. */
export function isExpired(
  { transaction: { validUntilMs, intent, mined } }: { readonly transaction: Pick<Transaction, 'validUntilMs' | 'intent' | 'mined'> },
  nowMs: number,
): boolean {
  return validUntilMs !== null && validUntilMs <= nowMs && intent === 'content' && mined === null;
}

/**
 * The latest of the service's time, the database's and the chain's. Content that has expired by any of them is neither signed nor
 * broadcast: the service's clock may be behind. It *ends* only if two of them agree. `head`: the newest block.
 */
export function latestMs({ deps, heads }: Pick<LaneContext, 'deps' | 'heads'>, head: Head | null = heads.settled): number {
  const never = Number.NEGATIVE_INFINITY;
  return Math.max(deps.clock.nowMs(), deps.database.timeMs() ?? never, blockTimeMsOf(head) ?? never);
}
