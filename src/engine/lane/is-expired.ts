import type { Transaction } from '../../core/records/transaction.js';

/** True if `valid_until` has passed and the lane has not acted on it yet: the content must not be broadcast or bumped any more. */
export function isExpired(
  { transaction: { validUntilMs, intent, mined } }: { readonly transaction: Pick<Transaction, 'validUntilMs' | 'intent' | 'mined'> },
  nowMs: number,
): boolean {
  return validUntilMs !== null && validUntilMs <= nowMs && intent === 'content' && mined === null;
}
