import { type Pause, pause } from './abort.js';

/** A task that repeats until it is stopped. */
export interface Repeating {
  /** Stops repeating, and waits for the run in progress. */
  stop(): Promise<void>;
}

/** How a task repeats. */
export interface RepeatOptions {
  /** Reports a run that failed; the task still runs again. */
  readonly onError: (error: unknown) => void;
  /** False: the first run comes after one interval. */
  readonly runsAtOnce?: boolean;
  /** Tests inject their own. */
  readonly pause?: Pause;
}

/** Runs a task every `everyMs`, measured from the end of a run, so runs never overlap. A long task should end early if its signal aborts. */
export function repeat(
  task: (signal: AbortSignal) => Promise<void>,
  everyMs: number,
  { onError, runsAtOnce = true, pause: wait = pause }: RepeatOptions,
): Repeating {
  const stopping = new AbortController();
  const { signal } = stopping;

  async function run(): Promise<void> {
    if (!runsAtOnce) await wait(everyMs, signal);
    while (!signal.aborted) {
      try {
        await task(signal);
      } catch (error) {
        onError(error);
      }
      await wait(everyMs, signal);
    }
  }

  const running = run();
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
