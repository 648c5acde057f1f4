/** Runs tasks on the same key one after the other, on different keys side by side. */
export interface OneAtATime {
  /** Runs `task` when all earlier tasks on any of these keys have ended. */
  run<T>(keys: readonly string[], task: () => Promise<T>): Promise<T>;
}

/** Creates the runner; idle keys cost nothing. */
export function createOneAtATime(): OneAtATime {
  const last = new Map<string, Promise<unknown>>();
  return {
    run<T>(keys: readonly string[], task: () => Promise<T>): Promise<T> {
      // All keys are taken in the same turn of the event loop, so two tasks never wait for each other.
      const earlier = Promise.allSettled(keys.map((key) => last.get(key)));
      const running = earlier.then(task);
      const settled = running.then(
        () => undefined,
        () => undefined,
      );
      for (const key of keys) last.set(key, settled);
      void settled.then(() => {
        for (const key of keys) if (last.get(key) === settled) last.delete(key);
      });
      return running;
    },
  };
}
