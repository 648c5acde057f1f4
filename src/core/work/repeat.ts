import { createPause } from './abort.js';
import { createLoop } from './loop.js';
import { backgroundTimers, type Timers } from './timers.js';

/** A task that repeats until it is stopped. */
export interface Repeating {
  /** Runs the task now; if it runs, once more after that. Returns at once. */
  wake(): void;
  /** Stops repeating, and waits for the run in progress. */
  stop(): Promise<void>;
}

/** How a task repeats. */
export interface RepeatOptions {
  /** Reports a run that failed; the task still runs again. */
  readonly onError: (error: unknown) => void;
  /** False: the first run comes after one interval, or when the task is woken. */
  readonly runsAtOnce?: boolean;
  /** The least time between two runs: wakes in between share one run. */
  readonly gapMs?: number;
  /** How long after a failure the task runs again, also if it is woken: doubled with each further one. Default: as after a success. */
  readonly backoffMs?: { readonly first: number; readonly longest: number };
  /** Default: the runtime's timers, which do not keep the process. */
  readonly timers?: Timers;
}

/**
 * Runs a task every `everyMs`, measured from the end of a run, so runs never overlap; a function is asked after each run, and Infinity
 * means only when woken. A long task should end early if its signal aborts.
 */
export function repeat(
  task: (signal: AbortSignal) => Promise<void>,
  everyMs: number | (() => number),
  { onError, runsAtOnce = true, gapMs = 0, backoffMs, timers = backgroundTimers }: RepeatOptions,
): Repeating {
  const stopping = new AbortController();
  const { signal } = stopping;
  const pause = createPause(timers);
  let failures = 0;
  let stopTimer = (): void => undefined;

  /** Wakes the loop after one interval, unless something else does before. */
  function schedule(): void {
    const ms = typeof everyMs === 'number' ? everyMs : everyMs();
    if (!signal.aborted && ms !== Number.POSITIVE_INFINITY) stopTimer = timers.after(Math.max(0, ms), loop.wake);
  }

  const loop = createLoop(async () => {
    stopTimer();
    try {
      await task(signal);
      failures = 0;
    } catch (error) {
      onError(error);
      failures += 1;
    }
    if (failures > 0 && backoffMs !== undefined) {
      await pause(Math.min(backoffMs.longest, backoffMs.first * 2 ** Math.min(failures - 1, 30)), signal);
      loop.wake();
    } else {
      if (gapMs > 0) await pause(gapMs, signal);
      schedule();
    }
  });

  if (runsAtOnce) loop.wake();
  else schedule();
  return {
    wake: loop.wake,
    async stop() {
      stopping.abort();
      stopTimer();
      await loop.stop();
    },
  };
}
