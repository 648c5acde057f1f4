import type { OutboxChanges, OutboxReads } from '../core/ports/store/outbox.js';
import type { StoreFor } from '../core/ports/store/store.js';
import { pause } from '../core/work/abort.js';
import type { Clock } from '../core/work/clock.js';
import type { Log } from '../core/work/log.js';
import { type Repeating, repeat } from '../core/work/repeat.js';

/** The dependencies of retention. */
export interface RetentionDeps {
  readonly store: StoreFor<OutboxReads, OutboxChanges>;
  readonly clock: Clock;
  readonly log: Log;
  /** Deliveries that were delivered or given up longer ago are deleted. */
  readonly retentionDays: number;
}

const dayMs = 24 * 60 * 60 * 1000;
const intervalMs = 60 * 60 * 1000;
/** Deliveries deleted in one commit. */
const batchSize = 100;
/** A gap between two commits, so that other commits get through. */
const batchGapMs = 20;

/** Starts to delete old deliveries, delivered and dead ones, now and every hour. */
export function startRetention({ store, clock, log, retentionDays }: RetentionDeps): Repeating {
  const deleteOld = async (signal: AbortSignal): Promise<void> => {
    const beforeMs = clock.nowMs() - retentionDays * dayMs;
    let deleted = 0;
    while (!signal.aborted) {
      const ids = await store.read.finishedEventIds(beforeMs, batchSize);
      if (ids.length > 0) await store.commit(ids.map((id) => store.change.deleteFinishedEvent(id)));
      deleted += ids.length;
      if (ids.length < batchSize) break;
      await pause(batchGapMs, signal);
    }
    if (deleted > 0) log.info({ deleted, retentionDays }, 'old webhook deliveries deleted');
  };
  return repeat(deleteOld, intervalMs, { onError: (error) => log.error({ err: error }, 'cannot delete old webhook deliveries') });
}
