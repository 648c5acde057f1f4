import { setTimeout as elapsed } from 'node:timers/promises';
import type { Clock } from '../core/ports/clock.js';
import type { Log } from '../core/ports/log.js';
import type { Store } from '../core/ports/store.js';

/** What retention works with. */
export interface RetentionDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** Deliveries that ended longer ago are deleted. */
  readonly retentionDays: number;
}

/** Deletes old deliveries, dead ones too: at the start and every hour. */
export interface Retention {
  start(): void;
  /** Resolves when nothing is being deleted any more. */
  stop(): Promise<void>;
}

const dayMs = 24 * 60 * 60 * 1000;
const everyMs = 60 * 60 * 1000;
/** Deleted in one commit. */
const batchSize = 100;
/** Between two commits, for those of others. */
const batchGapMs = 20;

/** Makes the retention; nothing happens before `start`. */
export function createRetention({ store, clock, log, retentionDays }: RetentionDeps): Retention {
  const closing = new AbortController();
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        await deleteOld();
      } catch (error) {
        log.error({ err: error }, 'old webhook deliveries cannot be deleted');
      }
      await pause(everyMs);
    }
  }

  async function deleteOld(): Promise<void> {
    const beforeMs = clock.nowMs() - retentionDays * dayMs;
    let deleted = 0;
    while (!closing.signal.aborted) {
      const ids = await store.read.finishedEventIds(beforeMs, batchSize);
      if (ids.length > 0) await store.commit(ids.map((id) => store.change.deleteFinishedEvent(id)));
      deleted += ids.length;
      if (ids.length < batchSize) break;
      await pause(batchGapMs);
    }
    if (deleted > 0) log.info({ deleted, retentionDays }, 'old webhook deliveries deleted');
  }

  async function pause(ms: number): Promise<void> {
    await elapsed(ms, undefined, { signal: closing.signal, ref: false }).catch(() => undefined);
  }

  return {
    start(): void {
      running ??= run();
    },
    async stop(): Promise<void> {
      closing.abort();
      await running;
    },
  };
}
