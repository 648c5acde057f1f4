import type { DurationClock } from '../../core/work/clock.js';
import type { Log } from '../../core/work/log.js';

/** A larger difference is logged and shown. */
const tolerableMs = 1_000;
/** From this difference on, nothing is signed: one of the two clocks is wrong, and `valid_until` is judged by both. */
const maxMs = 30_000;
/** An answer that took longer says too little about the time. */
const longestAnswerMs = 2_000;

/** The clock of the database's server, as this instance knows it between two looks. */
export interface DatabaseClock {
  /** The database's time was read. `askedAtMs`: the `elapsedMs` at which it was asked. */
  note(timeMs: number, askedAtMs: number): void;
  /** Null: not read yet. */
  timeMs(): number | null;
  /** The own clock minus the database's, as far as that is certain. */
  skewMs(): number;
  /** How much the clocks differ, if that is worth a sentence; else null. */
  difference(): string | null;
  /** True if the clocks differ by so much that nothing may be signed. */
  isTooFar(): boolean;
}

/**
 * Creates the clock. Between two answers it continues with the monotonic clock, so a jump of the own clock shows at once.
 */
export function createDatabaseClock(clock: DurationClock, log: Log): DatabaseClock {
  let known: { readonly timeMs: number; readonly atMs: number; readonly toleranceMs: number } | null = null;
  let isReported = false;

  const timeMs = () => (known === null ? null : known.timeMs + Math.floor(clock.elapsedMs() - known.atMs));
  function skewMs(): number {
    const now = timeMs();
    if (known === null || now === null) return 0;
    const apparentMs = clock.nowMs() - now;
    return Math.sign(apparentMs) * Math.max(0, Math.abs(apparentMs) - known.toleranceMs);
  }

  function difference(): string | null {
    const ms = skewMs();
    if (Math.abs(ms) < tolerableMs) return null;
    return `the clock of this instance is ${(Math.abs(ms) / 1_000).toFixed(1)} s ${ms > 0 ? 'ahead of' : 'behind'} the database's`;
  }

  return {
    note(readMs, askedAtMs) {
      const tookMs = clock.elapsedMs() - askedAtMs;
      if (known !== null && tookMs > longestAnswerMs) return;
      known = { timeMs: readMs, atMs: askedAtMs + tookMs / 2, toleranceMs: tookMs / 2 };
      const found = difference();
      if (found !== null && !isReported) log.warn({ skewMs: Math.round(skewMs()) }, `${found}; correct the clock that is wrong`);
      else if (found === null && isReported) log.info({}, 'the clocks of this instance and of the database agree again');
      isReported = found !== null;
    },
    timeMs,
    skewMs,
    difference,
    isTooFar: () => Math.abs(skewMs()) >= maxMs,
  };
}
