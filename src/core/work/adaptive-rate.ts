import type { DurationClock } from './clock.js';
import { createQueue } from './queue.js';
import type { Timers } from './timers.js';

/** Paces calls to a service that throttles: it finds the rate that the service allows, up to a maximum. */
export interface AdaptiveRate {
  /** Resolves when the next call may start, in the order of the requests. Rejects with the signal's reason if that aborts before. */
  take(signal: AbortSignal): Promise<void>;
  /** Takes note that the service throttled a call: no call starts for a while, and fewer per second after that. */
  throttled(retryAfterMs: number | null): void;
  /** Takes note that the service did a call. After a while without throttling, more calls per second start. */
  worked(): void;
}

/** Throttled calls within this time are one event: the service refused a batch that was under way. */
const oneEventMs = 1_000;
/**
 * Without throttling for this long, the rate grows by a part of itself, and by twice that part the next time: near the limit slowly, far
 * below it quickly.
 */
const calmMs = 1_000;
const growth = { first: 0.03, most: 0.5 };
/** The part of its rate that a throttled account keeps, unless the service did fewer calls lately. */
const keptPart = 0.9;
/** A throttled account starts at once what it may start in this time: its service may count shorter times than seconds. */
const burstMs = 100;
const pauseMs = { first: 100, longest: 5_000 };
const minPerSecond = 1;

/** Creates the pace of one account: at most `perSecond` calls, and at most `burst` of them at once. */
export function createAdaptiveRate(
  { perSecond: maxPerSecond, burst: maxBurst }: { readonly perSecond: number; readonly burst: number },
  { clock, timers }: { readonly clock: Pick<DurationClock, 'elapsedMs'>; readonly timers: Timers },
): AdaptiveRate {
  const queue = createQueue<void>();
  let perSecond = maxPerSecond;
  let tokens = burst();
  let tokensAtMs = clock.elapsedMs();
  let pausedUntilMs = 0;
  /** Throttled events in a row, without a call in between that the service did. */
  let pauses = 0;
  let growthPart = growth.first;
  /** The rate that an account keeps at most after it was throttled. */
  let mostKept = maxPerSecond;
  let throttledAtMs = Number.NEGATIVE_INFINITY;
  let changedAtMs = Number.NEGATIVE_INFINITY;
  let done = { sinceMs: clock.elapsedMs(), count: 0, before: 0 };
  let stopTimer: (() => void) | null = null;

  function burst(): number {
    const perBurst = perSecond < maxPerSecond ? (perSecond * burstMs) / 1_000 : perSecond;
    return Math.max(1, Math.min(maxBurst, perBurst));
  }

  /** Returns the number of calls in the current second so far, or in the previous second if it had more. */
  function doneLately(nowMs: number): number {
    if (nowMs - done.sinceMs >= 1_000) done = { sinceMs: nowMs, count: 0, before: nowMs - done.sinceMs < 2_000 ? done.count : 0 };
    return Math.max(done.count, done.before);
  }

  function pump(): void {
    const nowMs = clock.elapsedMs();
    tokens = Math.min(burst(), tokens + ((nowMs - tokensAtMs) * perSecond) / 1_000);
    tokensAtMs = nowMs;
    while (queue.size > 0 && tokens >= 1 && nowMs >= pausedUntilMs) {
      tokens -= 1;
      queue.serve();
    }
    if (queue.size === 0 || stopTimer !== null) return;
    const tokenInMs = ((1 - tokens) * 1_000) / perSecond;
    stopTimer = timers.after(Math.ceil(Math.max(1, tokenInMs, pausedUntilMs - nowMs)), () => {
      stopTimer = null;
      pump();
    });
  }

  return {
    take(signal) {
      const turn = queue.join(signal);
      pump();
      return turn;
    },
    throttled(retryAfterMs) {
      const nowMs = clock.elapsedMs();
      const isNew = nowMs - throttledAtMs >= oneEventMs;
      if (isNew) {
        pauses += 1;
        growthPart = growth.first;
        throttledAtMs = nowMs;
        changedAtMs = nowMs;
        // The service allows about as many as it did lately.
        mostKept = perSecond * keptPart;
        perSecond = Math.max(minPerSecond, Math.min(mostKept, doneLately(nowMs)));
        tokens = 0;
        tokensAtMs = nowMs;
      }
      const backoffMs = isNew ? Math.min(pauseMs.longest, pauseMs.first * 2 ** (pauses - 1)) : 0;
      pausedUntilMs = Math.max(pausedUntilMs, nowMs + Math.max(backoffMs, Math.min(retryAfterMs ?? 0, pauseMs.longest)));
    },
    worked() {
      const nowMs = clock.elapsedMs();
      doneLately(nowMs);
      done.count += 1;
      // Calls that were under way at the pause say nothing about those after it.
      if (nowMs >= pausedUntilMs) pauses = 0;
      // A refusal may come before the answers to earlier calls.
      if (nowMs - throttledAtMs < oneEventMs) perSecond = Math.max(perSecond, Math.min(mostKept, doneLately(nowMs)));
      if (perSecond === maxPerSecond || nowMs - changedAtMs < calmMs) return;
      changedAtMs = nowMs;
      perSecond = Math.min(maxPerSecond, perSecond * (1 + growthPart));
      growthPart = Math.min(growth.most, growthPart * 2);
    },
  };
}
