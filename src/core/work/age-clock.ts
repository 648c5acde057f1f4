import type { Clock, DurationClock } from './clock.js';
import type { Log } from './log.js';
import { type Repeating, repeat } from './repeat.js';

/**
 * The time by which stored records are judged too old. The system clock alone must not decide this: with the clock two days ahead, a
 * service would forget its idempotency keys, and a retried send would pay twice.
 */
export interface AgeClock extends Clock {
  /**
   * The latest time that the system clock and something else confirm: a block's timestamp, or the time since the service last ran. It may
   * be behind the real time, and then records live longer.
   */
  nowMs(): number;
  /** The time from which the life of a new record counts: never before a confirmed time, even if the system clock is behind. */
  startOfLifeMs(): number;
}

/** The dependencies of the age clock. */
export interface AgeClockDeps {
  /** The confirmed time that is stored; null: none is. */
  readonly stored: {
    read(): Promise<number | null>;
    write(timeMs: number): Promise<void>;
  };
  readonly clock: DurationClock;
  /** The timestamps of the newest blocks, and the database's time if its clock is another one. */
  readonly witnessesMs: () => readonly number[];
  readonly log: Log;
}

const storeIntervalMs = 60 * 1000;
/** A larger difference is logged. Blocks and clocks differ by seconds. */
const tolerableMs = 60 * 60 * 1000;

/** An age clock whose time can be stored. */
export interface StoredAgeClock extends AgeClock {
  /** Stores its time now and once a minute, which one instance at a time does. */
  startStoring(): Repeating;
}

/** Opens the age clock. */
export async function openAgeClock({ stored, clock, witnessesMs, log }: AgeClockDeps): Promise<StoredAgeClock> {
  // A new database has no old records.
  let confirmedMs = (await stored.read()) ?? clock.nowMs();
  let confirmedAtMs = clock.elapsedMs();
  let isDoubtful = false;

  /** The confirmed time, moved on by what has passed since. Whole milliseconds, because PostgreSQL stores no fractions of them. */
  function continuedMs(): number {
    return confirmedMs + Math.floor(clock.elapsedMs() - confirmedAtMs);
  }

  /** A node may lie, but not together with the system clock: see `nowMs`. */
  function evidenceMs(): number {
    return Math.max(continuedMs(), ...witnessesMs());
  }

  function nowMs(): number {
    return Math.min(clock.nowMs(), evidenceMs());
  }

  /**
   * The time to store. It goes back only if the system clock and the newest block agree on an earlier one, after the clock was once ahead.
   * A clock that is behind on its own does not move it: a new record's life would begin too early, and end when the clock is corrected.
   */
  function timeToConfirmMs(): number {
    const isClockRight = Math.abs(clock.nowMs() - Math.max(...witnessesMs())) <= tolerableMs;
    return isClockRight ? nowMs() : Math.max(nowMs(), continuedMs());
  }

  async function confirm(): Promise<void> {
    warnOfDoubt(clock.nowMs() - evidenceMs());
    const timeMs = timeToConfirmMs();
    await stored.write(timeMs);
    confirmedMs = timeMs;
    confirmedAtMs = clock.elapsedMs();
  }

  function warnOfDoubt(aheadMs: number): void {
    const wasDoubtful = isDoubtful;
    isDoubtful = Math.abs(aheadMs) > tolerableMs;
    if (!isDoubtful || wasDoubtful) return;
    const difference = `${Math.round(Math.abs(aheadMs) / 60_000)} min ${aheadMs > 0 ? 'ahead of' : 'behind'}`;
    log.warn(
      { clock: new Date(clock.nowMs()).toISOString(), confirmed: new Date(evidenceMs()).toISOString() },
      `the system clock is ${difference} the newest block or the time that the service itself measured; correct the clock. Until then, the service keeps every record that is old only by this clock`,
    );
  }

  const onError = (error: unknown) => log.error({ err: error }, 'cannot store the current time; retrying');
  return {
    nowMs,
    startOfLifeMs: () => Math.max(clock.nowMs(), evidenceMs()),
    startStoring: () => repeat(confirm, storeIntervalMs, { onError }),
  };
}
