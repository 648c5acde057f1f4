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

/**
 * Returns the time that two of these clocks have reached, so that one wrong clock does not move it; before any time if fewer than two are
 * known. Null: that clock is not known.
 */
export function timeOfTwo(...timesMs: readonly (number | null)[]): number {
  const [, second = Number.NEGATIVE_INFINITY] = timesMs.filter((timeMs) => timeMs !== null).toSorted((a, b) => b - a);
  return second;
}

/** Other clocks than the own one. */
export interface ClockWitnesses {
  /** Null: it is not known. */
  databaseMs(): number | null;
  /** The timestamps of the newest blocks. */
  headTimesMs(): readonly number[];
}

/**
 * Makes a clock that one wrong clock does not move: the middle one of the own time, the database's and the newest block's. Without a block
 * it is the database's, which all instances share.
 */
export function createAgreedClock(own: Clock, { databaseMs, headTimesMs }: ClockWitnesses): Clock {
  return {
    nowMs() {
      const sharedMs = databaseMs();
      if (sharedMs === null) return own.nowMs();
      const blockMs = Math.max(...headTimesMs());
      return Math.floor(Number.isFinite(blockMs) ? timeOfTwo(own.nowMs(), sharedMs, blockMs) : sharedMs);
    },
  };
}

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
