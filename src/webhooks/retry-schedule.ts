/** What the next try's time depends on. */
export interface FailedTry {
  /** Tries so far, the failed one included. */
  readonly attempts: number;
  /** Waiting times after the first, second, ... try. */
  readonly retrySeconds: readonly number[];
  /** The receiver's `Retry-After` as it came: seconds, or an HTTP date. */
  readonly retryAfter: string | undefined;
  readonly nowMs: number;
  /** 0 to 1, below 1. Spreads the tries of events that failed together. */
  readonly random: number;
}

/** A receiver may ask for more patience than the schedule has, up to a day. */
const maxRetryAfterMs = 24 * 60 * 60 * 1000;

/** When to try again: the schedule's time give or take 10 %, later when the receiver asks for it; undefined when the schedule is used up. */
export function nextTryAtMs({ attempts, retrySeconds, retryAfter, nowMs, random }: FailedTry): number | undefined {
  const seconds = retrySeconds[attempts - 1];
  if (seconds === undefined) return undefined;
  const scheduledMs = seconds * 1000 * (0.9 + 0.2 * random);
  return nowMs + Math.round(Math.max(scheduledMs, retryAfterMs(retryAfter, nowMs)));
}

function retryAfterMs(retryAfter: string | undefined, nowMs: number): number {
  if (retryAfter === undefined) return 0;
  const text = retryAfter.trim();
  const waitMs = /^[0-9]+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  return Number.isNaN(waitMs) ? 0 : Math.min(Math.max(waitMs, 0), maxRetryAfterMs);
}
