import { createQueue } from './queue.js';

/** Bounds how many tasks run at the same time. */
export interface ParallelLimit {
  /**
   * Runs a task when fewer than the limit run, in the order of the calls. Rejects with the signal's reason if that aborts before the start;
   * it does not end a task that runs.
   */
  run<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** True if a further task would wait. */
  isFull(): boolean;
  /** Counts the tasks that run no longer: others start in their places. */
  forgetRunning(): void;
}

/** The tasks that count together. */
interface Running {
  count: number;
}

/** Creates a limit under which no task runs. */
export function createParallelLimit(parallel: number): ParallelLimit {
  const queue = createQueue<Running>();
  let running: Running = { count: 0 };

  function begun(): Running {
    running.count += 1;
    return running;
  }

  /** Called whenever a task ends, so that a new caller cannot overtake waiting ones. */
  function serve(): void {
    while (queue.size > 0 && running.count < parallel) queue.serve(begun());
  }

  return {
    async run(task, signal) {
      signal?.throwIfAborted();
      const own = running.count < parallel ? begun() : await queue.join(signal);
      try {
        return await task();
      } finally {
        own.count -= 1;
        serve();
      }
    },
    isFull: () => running.count >= parallel,
    forgetRunning() {
      running = { count: 0 };
      serve();
    },
  };
}
