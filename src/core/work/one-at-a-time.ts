/** Runs tasks on the same key one after the other, on different keys side by side. */
export interface OneAtATime {
  /** Runs `task` when all earlier tasks on any of these keys have ended. */
  run<T>(keys: readonly string[], task: () => Promise<T>): Promise<T>;
  /** True while a task on this key runs or waits. */
  isBusy(key: string): boolean;
}

/** Creates the runner; idle keys cost nothing. */
export function createOneAtATime(): OneAtATime {
  const last = new Map<string, Promise<unknown>>();
  return {
    isBusy: (key) => last.has(key),
    run<T>(keys: readonly string[], task: () => Promise<T>): Promise<T> {
      // All keys are taken in the same turn of the event loop, so two tasks never wait for each other.
      const earlier = keys.flatMap((key) => last.get(key) ?? []);
      // Every change of a transaction comes through here, so it makes few promises. The promises that are waited for never reject.
      const running = Promise.all(earlier).then(task);
      const ended = running.then(release, release);
      function release(): void {
        for (const key of keys) if (last.get(key) === ended) last.delete(key);
      }
      for (const key of keys) last.set(key, ended);
      return running;
    },
  };
}

/** Runs `work` when all earlier work has ended, whether it succeeded or failed. */
export type Exclusively = <T>(work: () => Promise<T>) => Promise<T>;

/** Creates a queue that runs tasks one at a time, so a check still holds when its result is written. */
export function createExclusively(): Exclusively {
  const { run } = createOneAtATime();
  return (work) => run(['all'], work);
}
