/** Work that runs once for all callers that come while it runs: each gets the result of that run. */
export interface SharedRun<T> {
  (): Promise<T>;
  /** The run in progress; null: none. */
  current(): Promise<T> | null;
}

/** Makes work that its callers share. */
export function shareRun<T>(work: () => Promise<T>): SharedRun<T> {
  let running: Promise<T> | null = null;
  const run = (): Promise<T> => {
    running ??= work().finally(() => {
      running = null;
    });
    return running;
  };
  return Object.assign(run, { current: () => running });
}
