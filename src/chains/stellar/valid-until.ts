import { readValidUntil } from '../../core/transaction/valid-until.js';

/**
 * Milliseconds since the epoch of a caller's `valid_until`: RFC 3339 or, as Stellar's tools write it, unix seconds in decimal digits; null when absent.
 * Throws `DomainError` (400) when it is malformed or past.
 */
export function validUntilMsFrom(text: string | undefined, nowMs: number): number | null {
  // Beyond eleven digits a Date has no name for the time.
  const isSeconds = text !== undefined && /^[0-9]{1,11}$/.test(text);
  return readValidUntil(isSeconds ? new Date(Number(text) * 1000).toISOString() : text, nowMs);
}
