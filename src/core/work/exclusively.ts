/** Runs `work` when all earlier work has ended, whether it succeeded or failed. */
export type Exclusively = <T>(work: () => Promise<T>) => Promise<T>;

/** Creates a queue that runs tasks one at a time, so a check still holds when its result is written. */
export function createExclusively(): Exclusively {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const running = last.then(work);
    last = running.catch(() => undefined);
    return running;
  };
}
