import { performance } from 'node:perf_hooks';

/** The time, injected so that tests can move it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  nowMs(): number;
}

/** A clock that measures durations too. */
export interface DurationClock extends Clock {
  /** Milliseconds since some moment. Unlike `nowMs` it never jumps, so every duration is measured with it. */
  elapsedMs(): number;
}

/** Milliseconds since the process started; never jumps. */
export const monotonicMs = (): number => performance.now();

/** The system clock. */
export const systemClock: DurationClock = { nowMs: () => Date.now(), elapsedMs: monotonicMs };

/** Makes a clock that never goes back, even if the system clock does: what is scheduled by it is never held up. */
export function createForwardClock(clock: Clock, elapsedMs: () => number): Clock {
  let latestMs = clock.nowMs();
  let readAtMs = elapsedMs();
  return {
    nowMs() {
      const elapsedAtMs = elapsedMs();
      latestMs = Math.max(clock.nowMs(), latestMs + elapsedAtMs - readAtMs);
      readAtMs = elapsedAtMs;
      return Math.floor(latestMs);
    },
  };
}
