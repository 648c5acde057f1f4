import { invalidField } from '../errors.js';

// RFC 3339 section 5.6; Date.parse alone takes many other forms.
const rfc3339 = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$/;

/** Milliseconds since the epoch of a caller's `valid_until`; null when absent. Throws 400 when it is malformed or past. */
export function readValidUntil(text: string | undefined, nowMs: number): number | null {
  if (text === undefined) return null;
  const timeMs = rfc3339.test(text) ? Date.parse(text.replace(' ', 'T').toUpperCase()) : Number.NaN;
  if (Number.isNaN(timeMs)) throw invalidField('valid_until', 'must be an RFC 3339 time, such as 2030-01-31T12:00:00Z');
  if (timeMs <= nowMs) throw invalidField('valid_until', 'must not be in the past');
  return timeMs;
}
