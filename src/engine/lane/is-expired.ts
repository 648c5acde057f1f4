import { blockTimeMsOf, type Head } from '../../core/ports/chain/head.js';
import { awaitsApproval, type Transaction } from '../../core/records/transaction.js';
import type { LaneContext } from './lane-context.js';

/** The facts that decide when a transaction expires. */
export type Expirable = Pick<Transaction, 'validUntilMs' | 'intent' | 'mined' | 'approval'>;

/**
 * True if `valid_until`, or the time for approvals that are missing, has passed and the lane has not acted on it yet: the content must not
 * be broadcast or bumped any more.
 */
export function isExpired({ transaction }: { readonly transaction: Expirable }, nowMs: number): boolean {
  const { validUntilMs, intent, mined } = transaction;
  return ((validUntilMs !== null && validUntilMs <= nowMs) || isUnapproved(transaction, nowMs)) && intent === 'content' && mined === null;
}

/** True if the transaction was not approved in time. */
function isUnapproved({ approval }: Pick<Transaction, 'approval'>, nowMs: number): boolean {
  return approval !== null && awaitsApproval({ approval }) && approval.expiresAtMs <= nowMs;
}

/**
 * The latest of the service's time, the database's and the chain's. Content that has expired by any of them is neither signed nor
 * broadcast: the service's clock may be behind. It *ends* only if two of them agree. `head`: the newest block.
 */
export function latestMs({ deps, heads }: Pick<LaneContext, 'deps' | 'heads'>, head: Head | null = heads.settled): number {
  const never = Number.NEGATIVE_INFINITY;
  return Math.max(deps.clock.nowMs(), deps.database.timeMs() ?? never, blockTimeMsOf(head) ?? never);
}
