import { AsyncResource } from 'node:async_hooks';

/** Work that is done again and again, one round at a time. */
export interface Loop {
  /** Says that there is work; a round that runs is followed by another. Returns at once. */
  wake(): void;
  /** Starts no further round, and resolves when the one that runs has ended. */
  stop(): Promise<void>;
}

/** Makes a loop. `onError` learns what a round throws; the next wake tries again. */
export function createLoop(round: () => Promise<void>, onError: (error: unknown) => void): Loop {
  let wanted = false;
  let stopped = false;
  let running: Promise<void> | null = null;

  // A request that wakes it must not count its rounds as its own.
  const run = AsyncResource.bind(async (): Promise<void> => {
    while (wanted && !stopped) {
      wanted = false;
      try {
        await round();
      } catch (error) {
        onError(error);
      }
    }
    running = null;
  });

  return {
    wake() {
      wanted = true;
      if (!stopped) running ??= run();
    },
    async stop() {
      stopped = true;
      await running;
    },
  };
}
