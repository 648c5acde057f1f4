import { StoreAwayError } from '../../core/ports/store/change.js';
import type { Log } from '../../core/work/log.js';
import { createExclusively, type Exclusively } from '../../core/work/one-at-a-time.js';
import { type Repeating, repeat } from '../../core/work/repeat.js';
import type { Timers } from '../../core/work/timers.js';

/** A task that repeats, and whose runs callers can wait for. */
export interface Rounds {
  /** Begins the rounds. Resolves after the first one that succeeds, or when the rounds end. */
  start(): Promise<void>;
  isStarted(): boolean;
  /** Makes the next round come at once. */
  wake(): void;
  /** Resolves after the next round, also if it fails: a caller must not wait until the other instances can be seen again. */
  next(): Promise<void>;
  /** True if the last round failed. */
  isFailing(): boolean;
  /** Runs work between two rounds. */
  readonly between: Exclusively;
  stop(): Promise<void>;
}

/** The parts that make rounds. */
export interface RoundsDeps {
  readonly round: () => Promise<void>;
  readonly everyMs: () => number;
  /** Called after a round that failed. */
  readonly failed: () => Promise<void>;
  readonly timers: Timers;
  readonly log: Log;
}

/** Creates rounds that have not begun. */
export function createRounds({ round, everyMs, failed, timers, log }: RoundsDeps): Rounds {
  const exclusively = createExclusively();
  /** What the last round failed with; null: it did not fail. */
  let failure: string | null = null;
  let isEnding = false;
  let repeating: Repeating | null = null;
  /** Callers that wait for the end of the next round; `needsSuccess`: of the next one that does not fail. */
  let waiters: { readonly resolve: () => void; readonly needsSuccess: boolean }[] = [];

  function logFailure(error: unknown): void {
    log.warn({ err: error }, 'cannot read the state of the other instances; retrying');
  }

  async function runRound(): Promise<void> {
    const waiting = waiters;
    waiters = [];
    try {
      await exclusively(round);
      failure = null;
      for (const { resolve } of waiting) resolve();
    } catch (error) {
      for (const { resolve, needsSuccess } of waiting) if (!needsSuccess) resolve();
      waiters.unshift(...waiting.filter(({ needsSuccess }) => needsSuccess));
      const message = error instanceof Error ? error.message : String(error);
      // The link reports a lost connection.
      if (message !== failure && !(error instanceof StoreAwayError)) logFailure(error);
      failure = message;
      await failed();
    }
  }

  function nextRound(needsSuccess: boolean): Promise<void> {
    repeating?.wake();
    return new Promise((resolve) => {
      if (isEnding) resolve();
      else waiters.push({ resolve, needsSuccess });
    });
  }

  return {
    async start() {
      repeating = repeat(runRound, everyMs, { onError: logFailure, timers });
      await nextRound(true);
    },
    isStarted: () => repeating !== null,
    wake: () => repeating?.wake(),
    next: () => nextRound(false),
    isFailing: () => failure !== null,
    between: exclusively,
    async stop() {
      isEnding = true;
      await repeating?.stop();
      for (const { resolve } of waiters) resolve();
    },
  };
}
