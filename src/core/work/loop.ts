import { AsyncResource } from 'node:async_hooks';

/** Repeated work, one round at a time. */
export interface Loop {
  /** Requests a round; a running round is followed by another. Returns at once. */
  wake(): void;
  /** Starts no further round, and resolves when the running one has ended. */
  stop(): Promise<void>;
}

/** Of no request: rounds must not be counted as part of the request that woke the loop. One for all loops, since there are thousands. */
const outsideRequests = new AsyncResource('loop');

/** Makes a loop. `round` must not throw. */
export function createLoop(round: () => Promise<void>): Loop {
  let wanted = false;
  let stopped = false;
  let running: Promise<void> | null = null;

  const run = async (): Promise<void> => {
    while (wanted && !stopped) {
      wanted = false;
      await round();
    }
    running = null;
  };

  return {
    wake() {
      wanted = true;
      if (!stopped) running ??= outsideRequests.runInAsyncScope(run);
    },
    async stop() {
      stopped = true;
      await running;
    },
  };
}
