import { setTimeout as elapsed } from 'node:timers/promises';
import type { Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import type { Store } from '../ports/store.js';
import { removeOldest } from './remove-oldest.js';

/** What cleaning works with. */
export interface TransactionCleanerDeps {
  readonly store: Pick<Store, 'read' | 'change' | 'commit'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Transactions that ended longer ago are removed. */
  readonly expirationHours: number;
}

/** Removes finished transactions, at the start and every minute. */
export interface TransactionCleaner {
  start(): void;
  /** Resolves when the batch at work is written. */
  stop(): Promise<void>;
}

const hourMs = 60 * 60 * 1000;
const everyMs = 60 * 1000;
/** Looked at in one go, and removed at most in one commit. */
const batchSize = 100;
/** Where the oldest of a relayer are all still open, so many are looked at before it is left alone until some of them end. */
const greatestBatch = 3_200;
/** Between two commits, for those of others. */
const batchGapMs = 20;

/** Makes the cleaner; nothing happens before `start`. */
export function createTransactionCleaner({ store, clock, log, expirationHours }: TransactionCleanerDeps): TransactionCleaner {
  const closing = new AbortController();
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        await clean();
      } catch (error) {
        log.error({ err: error }, 'finished transactions cannot be removed');
      }
      await pause(everyMs);
    }
  }

  async function clean(): Promise<void> {
    const beforeMs = clock.nowMs() - expirationHours * hourMs;
    let removed = 0;
    for (const relayerId of await store.read.relayersWithFinished()) removed += await cleanRelayer(relayerId, beforeMs);
    if (removed > 0) log.info({ removed, expirationHours }, 'finished transactions removed');
  }

  async function cleanRelayer(relayerId: string, beforeMs: number): Promise<number> {
    let removed = 0;
    for (let size = batchSize; size <= greatestBatch && !closing.signal.aborted; ) {
      const oldest = await store.read.oldestTransactions(relayerId, size);
      const removal = removeOldest(store.change, oldest, beforeMs);
      if (removal.removed > 0) {
        await store.commit(removal.changes);
        removed += removal.removed;
        await pause(batchGapMs);
      } else if (removal.isHeldUp && oldest.length === size) {
        size *= 2;
      } else break;
    }
    return removed;
  }

  async function pause(ms: number): Promise<void> {
    await elapsed(ms, undefined, { signal: closing.signal, ref: false }).catch(() => undefined);
  }

  return {
    start() {
      running ??= run();
    },
    async stop() {
      closing.abort();
      await running;
    },
  };
}
