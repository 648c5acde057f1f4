import { AsyncResource } from 'node:async_hooks';
import { createPause } from './abort.js';
import { backgroundTimers, type Timers } from './timers.js';
import { createWaker } from './waker.js';

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

/** Of no request: a run must not be counted as part of the request that started the task. */
const outsideRequests = new AsyncResource('repeat');

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
  const waker = createWaker(timers);
  const pause = createPause(timers);
  const intervalMs = (): number => (typeof everyMs === 'number' ? everyMs : everyMs());

  /** Returns the number of failures in a row. */
  async function runOnce(failures: number): Promise<number> {
    waker.heed();
    try {
      await task(signal);
      return 0;
    } catch (error) {
      onError(error);
      return failures + 1;
    }
  }

  async function run(): Promise<void> {
    if (!runsAtOnce) await waker.wait(intervalMs());
    let failures = 0;
    while (!signal.aborted) {
      failures = await runOnce(failures);
      if (failures > 0 && backoffMs !== undefined)
        await pause(Math.min(backoffMs.longest, backoffMs.first * 2 ** Math.min(failures - 1, 30)), signal);
      else {
        if (gapMs > 0) await pause(gapMs, signal);
        await waker.wait(intervalMs());
      }
    }
  }

  const running = outsideRequests.runInAsyncScope(run);
  return {
    wake: waker.wake,
    async stop() {
      stopping.abort();
      waker.close();
      await running;
    },
  };
}
