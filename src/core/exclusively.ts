/** Runs `work` when all that was given before it has ended, however it did. */
export type Exclusively = <T>(work: () => Promise<T>) => Promise<T>;

/** Makes it: what is checked inside is still true when it is written there. */
export function createExclusively(): Exclusively {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const running = last.then(work);
    last = running.catch(() => undefined);
    return running;
  };
}
