import { invalidField } from '../errors.js';
import { instantFromRfc3339 } from '../rfc3339.js';

/** Parses a caller's `valid_until` into milliseconds since the epoch; null if absent. Throws 400 if it is malformed or past. */
export function readValidUntil(text: string | undefined, nowMs: number): number | null {
  if (text === undefined) return null;
  const instant = instantFromRfc3339(text);
  if (instant === undefined) throw invalidField('valid_until', 'must be an RFC 3339 time, such as 2030-01-31T12:00:00Z');
  const timeMs = instant.seconds * 1000 + Math.floor(instant.nanos / 1e6);
  if (timeMs <= nowMs) throw invalidField('valid_until', 'must not be in the past');
  return timeMs;
}
