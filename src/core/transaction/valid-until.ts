import { invalidField } from '../errors/errors.js';
import type { Attempt, Transaction } from '../records/transaction.js';

/** Returns a caller's `valid_until`, in milliseconds since the epoch; null if absent. Throws 400 if it is past. */
export function readValidUntil(timeMs: number | undefined, nowMs: number): number | null {
  if (timeMs === undefined) return null;
  if (timeMs <= nowMs) throw invalidField('valid_until', 'must not be in the past');
  return timeMs;
}

/**
 * Returns until when a transaction is valid that this attempt is the first one of: on Stellar the default begins when it is signed. Null:
 * no limit.
 */
export function validUntilWith(
  { content, validUntilMs }: Pick<Transaction, 'content' | 'validUntilMs'>,
  { fields }: Pick<Attempt, 'fields'>,
) {
  if (validUntilMs !== null || content.network !== 'stellar' || content.kind !== 'operations' || content.validityMs === null)
    return validUntilMs;
  return fields.network === 'stellar' && fields.maxTimeS !== null ? Number(fields.maxTimeS) * 1000 : null;
}
