import type { Timers } from '../../core/work/timers.js';

/** Runs tasks that may wait for a slow signer, without delaying the tasks after them for long. */
export interface SlowTasks {
  /**
   * Runs the task, and waits for its end; if the key is hosted, at most 1 s. A task that goes on after that is not started again before it
   * ends: until then the call returns at once.
   */
  run(name: string, task: () => Promise<void>): Promise<void>;
  /** Resolves when no task runs any more. */
  ended(): Promise<void>;
}

/** The dependencies of the runner. */
export interface SlowTasksDeps {
  readonly timers: Timers;
  readonly isHosted: () => boolean;
  /** Takes the error of a task that failed when its caller no longer waited. */
  readonly onLateFailure: (name: string, error: unknown) => void;
}

/** How long the other tasks wait for one that waits for a hosted key. */
const patienceMs = 1_000;

/** Makes the runner of one lane. */
export function createSlowTasks({ timers, isHosted, onLateFailure }: SlowTasksDeps): SlowTasks {
  const running = new Map<string, Promise<void>>();

  async function runHosted(name: string, task: () => Promise<void>): Promise<void> {
    if (running.has(name)) return;
    let isLate = false;
    const done = task().catch((error: unknown) => {
      if (!isLate) throw error;
      onLateFailure(name, error);
    });
    const ended = done.then(
      () => void running.delete(name),
      () => void running.delete(name),
    );
    running.set(name, ended);
    let stopTimer = (): void => {};
    const patience = new Promise<void>((resolve) => {
      stopTimer = timers.after(patienceMs, () => {
        isLate = true;
        resolve();
      });
    });
    await Promise.race([done, patience]).finally(stopTimer);
  }

  return {
    run: (name, task) => (isHosted() ? runHosted(name, task) : task()),
    async ended() {
      await Promise.all(running.values());
    },
  };
}
