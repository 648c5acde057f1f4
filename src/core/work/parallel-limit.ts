/** Returns a function that runs tasks in the order of its calls, at most `parallel` at once. */
export function limitParallel(parallel: number): <T>(task: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (task) => {
    if (running >= parallel) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await task();
    } finally {
      const next = waiting.shift();
      // Passes its turn on instead of ending it, so that a new caller cannot overtake those that wait.
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
