import { invalidField } from '../errors.js';

/** Returns a caller's `valid_until`, in milliseconds since the epoch; null if absent. Throws 400 if it is past. */
export function readValidUntil(timeMs: number | undefined, nowMs: number): number | null {
  if (timeMs === undefined) return null;
  if (timeMs <= nowMs) throw invalidField('valid_until', 'must not be in the past');
  return timeMs;
}
