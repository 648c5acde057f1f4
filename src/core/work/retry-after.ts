/** How the three forms of an HTTP date begin; all of them are in UTC. Node reads far more as a date. */
const weekday = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /;

/**
 * Reads a `Retry-After` header (RFC 9110): seconds, or an HTTP date. Returns the wait in milliseconds, at most `longestMs`; null if there
 * is none that can be read. Seconds may have a fraction, which some services send.
 */
export function retryAfterMs(header: string | readonly string[] | undefined, nowMs: number, longestMs: number): number | null {
  const text = (typeof header === 'string' ? header : header?.[0])?.trim() ?? '';
  const waitMs = /^\d+(?:\.\d+)?$/.test(text) ? Math.ceil(Number(text) * 1_000) : dateMs(text) - nowMs;
  return Number.isNaN(waitMs) ? null : Math.min(Math.max(waitMs, 0), longestMs);
}

function dateMs(text: string): number {
  if (!weekday.test(text)) return Number.NaN;
  return Date.parse(text.endsWith(' GMT') ? text : `${text} GMT`);
}
