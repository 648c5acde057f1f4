import { setTimeout as elapsed } from 'node:timers/promises';
import type { Clock } from '../core/ports/clock.js';
import type { Log } from '../core/ports/log.js';
import type { Store } from '../core/ports/store.js';

/** The dependencies of the retention. */
export interface RetentionDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** Deliveries that ended earlier are deleted. */
  readonly retentionDays: number;
}

/** Deletes old deliveries, delivered and dead ones, at the start and every hour. */
export interface Retention {
  start(): void;
  /** Resolves when the running deletion has ended. */
  stop(): Promise<void>;
}

const dayMs = 24 * 60 * 60 * 1000;
const everyMs = 60 * 60 * 1000;
/** The number of deliveries that one commit deletes. */
const batchSize = 100;
/** The pause between two commits, in which other commits run. */
const batchGapMs = 20;

/** Makes the retention, which does nothing before `start`. */
export function createRetention({ store, clock, log, retentionDays }: RetentionDeps): Retention {
  const closing = new AbortController();
  let running: Promise<void> | undefined;

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        await deleteOld();
      } catch (error) {
        log.error({ err: error }, 'cannot delete old webhook deliveries; will retry in an hour');
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
    if (deleted > 0) log.info({ deleted, retentionDays }, 'deleted old webhook deliveries');
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
