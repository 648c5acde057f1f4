import { inTime } from '../../core/work/abort.js';
import type { Timers } from '../../core/work/timers.js';
import type { MakeTask } from './task.js';

/** The tasks of a lane that may wait for a slow signer, without delaying the tasks after them for long. */
export interface SlowTasks {
  /**
   * Makes a task that ends its call when it has ended; if the key is hosted, after 1 s at the latest. A task that goes on after that is not
   * started again before it ends: until then a call returns at once. It succeeds or fails only when it ends.
   */
  readonly task: MakeTask;
  /** Resolves when no task runs any more. */
  ended(): Promise<void>;
}

/** The dependencies of slow tasks. */
export interface SlowTasksDeps {
  /** Makes a task as any other; it reports its own failures. */
  readonly task: MakeTask;
  readonly timers: Timers;
  readonly isHosted: () => boolean;
}

/** How long the other tasks wait for one that waits for a hosted key. */
const patienceMs = 1_000;

/** Makes the slow tasks of one lane. */
export function createSlowTasks({ task, timers, isHosted }: SlowTasksDeps): SlowTasks {
  const running = new Map<string, Promise<void>>();

  async function runOnce(name: string, run: () => Promise<void>): Promise<void> {
    // Also if the key was hosted when the task began, and is not now.
    if (running.has(name)) return;
    const ended = run().finally(() => running.delete(name));
    running.set(name, ended);
    await (isHosted() ? inTime(ended, patienceMs, undefined, timers) : ended);
  }

  return {
    task(name, work) {
      const whole = task(name, work);
      return (...args) => runOnce(name, () => whole(...args));
    },
    async ended() {
      await Promise.all(running.values());
    },
  };
}
