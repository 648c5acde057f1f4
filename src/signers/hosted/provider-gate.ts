import type { DurationClock } from '../../core/work/clock.js';
import type { Timers } from '../../core/work/timers.js';
import type { ProviderLimits } from './key-provider.js';

/** The calls to one account of a provider: in the order of the requests, within its limits. */
export interface ProviderGate {
  /** Starts the task when the limits allow it. Rejects with the signal's reason if it aborts before. */
  run<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T>;
  /** Takes note that the provider throttled a call: no call is made for a while, and fewer per second after that. */
  throttled(retryAfterMs: number | null): void;
  /** Takes note that the provider did a call. After a while without throttling, more calls per second are made. */
  worked(): void;
}

/** Returns the gate of an account. All signers of the account share it. */
export type ProviderGates = (account: string, limits: ProviderLimits) => ProviderGate;

/** Time as a gate needs it. */
export interface GateTime {
  readonly clock: Pick<DurationClock, 'elapsedMs'>;
  readonly timers: Timers;
}

/** Throttled calls within this time are one event: the provider refused a batch that was under way. */
const oneEventMs = 1_000;
/** Without throttling for this long, the rate grows by a part of itself, and by twice that part the next time: near the limit slowly, far below it quickly. */
const calmMs = 1_000;
const growth = { first: 0.03, most: 0.5 };
/** The part of its rate that a throttled account keeps, unless the provider did fewer calls lately. */
const keptPart = 0.9;
/** A throttled account starts at once what it may start in this time: its provider may count shorter times than seconds. */
const burstMs = 100;
const pauseMs = { first: 100, longest: 5_000 };
const minPerSecond = 1;

/** Makes the gates of all accounts. */
export function createProviderGates(time: GateTime): ProviderGates {
  const gates = new Map<string, ProviderGate>();
  return (account, limits) => {
    const known = gates.get(account);
    if (known !== undefined) return known;
    const made = createProviderGate(limits, time);
    gates.set(account, made);
    return made;
  };
}

/** Makes the gate of one account. */
export function createProviderGate({ parallel, perSecond: maxPerSecond }: ProviderLimits, { clock, timers }: GateTime): ProviderGate {
  /** In the order of the requests; one that is aborted leaves it. */
  const waiting = new Set<() => void>();
  let running = 0;
  let perSecond = maxPerSecond;
  let tokens = burst();
  let tokensAtMs = clock.elapsedMs();
  let pausedUntilMs = 0;
  /** Throttled events in a row, without a call in between that the provider did. */
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
    return Math.max(1, Math.min(parallel, perBurst));
  }

  /** The calls that the provider did in a second: in the present one so far, or in the one before if those were more. */
  function doneLately(nowMs: number): number {
    if (nowMs - done.sinceMs >= 1_000) done = { sinceMs: nowMs, count: 0, before: nowMs - done.sinceMs < 2_000 ? done.count : 0 };
    return Math.max(done.count, done.before);
  }

  function pump(): void {
    const nowMs = clock.elapsedMs();
    tokens = Math.min(burst(), tokens + ((nowMs - tokensAtMs) * perSecond) / 1_000);
    tokensAtMs = nowMs;
    while (waiting.size > 0 && running < parallel && tokens >= 1 && nowMs >= pausedUntilMs) {
      const [start] = waiting;
      if (start === undefined) return;
      waiting.delete(start);
      tokens -= 1;
      running += 1;
      start();
    }
    if (waiting.size === 0 || running >= parallel || stopTimer !== null) return;
    const tokenInMs = ((1 - tokens) * 1_000) / perSecond;
    stopTimer = timers.after(Math.ceil(Math.max(1, tokenInMs, pausedUntilMs - nowMs)), () => {
      stopTimer = null;
      pump();
    });
  }

  function turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const start = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        waiting.delete(start);
        reject(signal.reason);
      };
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      signal.addEventListener('abort', leave, { once: true });
      waiting.add(start);
      pump();
    });
  }

  return {
    async run(task, signal) {
      await turn(signal);
      try {
        return await task();
      } finally {
        running -= 1;
        pump();
      }
    },
    throttled(retryAfterMs) {
      const nowMs = clock.elapsedMs();
      const isNew = nowMs - throttledAtMs >= oneEventMs;
      if (isNew) {
        pauses += 1;
        growthPart = growth.first;
        throttledAtMs = nowMs;
        changedAtMs = nowMs;
        // The provider allows about as many as it did lately.
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
      // A refusal may come before the signatures that were asked for earlier.
      if (nowMs - throttledAtMs < oneEventMs) perSecond = Math.max(perSecond, Math.min(mostKept, doneLately(nowMs)));
      if (perSecond === maxPerSecond || nowMs - changedAtMs < calmMs) return;
      changedAtMs = nowMs;
      perSecond = Math.min(maxPerSecond, perSecond * (1 + growthPart));
      growthPart = Math.min(growth.most, growthPart * 2);
    },
  };
}
