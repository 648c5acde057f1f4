import type { Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import type { Store } from '../ports/store.js';

/** Small enough that whoever commits meanwhile waits no longer than for one batch. */
const batchSize = 200;
const intervalMs = 60 * 60 * 1000;

/** What cleaning works with. */
export interface StoredResponseCleanerDeps {
  readonly store: Pick<Store, 'read' | 'change' | 'commit'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Deletes the outcomes that have expired, at start and every hour. */
export interface StoredResponseCleaner {
  start(): void;
  /** Resolves when the batch at work is written. */
  stop(): Promise<void>;
}

/** Makes the cleaner; nothing happens before `start`. */
export function createStoredResponseCleaner({ store, clock, log }: StoredResponseCleanerDeps): StoredResponseCleaner {
  let stopped = false;
  let cleaning = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;

  async function clean(): Promise<void> {
    try {
      while (!stopped) {
        const nowMs = clock.nowMs();
        const oldestMs = await store.read.firstStoredResponseExpiryMs();
        if (oldestMs === undefined || oldestMs > nowMs) return;
        await store.commit([store.change.deleteExpiredStoredResponses(nowMs, batchSize)]);
      }
    } catch (error) {
      log.error({ err: error }, 'expired outcomes of idempotency keys cannot be deleted');
    }
  }

  function run(): void {
    cleaning = clean();
  }

  return {
    start() {
      run();
      timer = setInterval(run, intervalMs).unref();
    },
    async stop() {
      stopped = true;
      clearInterval(timer);
      await cleaning;
    },
  };
}
