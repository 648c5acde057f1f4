import type { Change } from '../ports/store/change.js';
import type { StoreFor } from '../ports/store/store.js';
import type { OldTransaction, TransactionChanges, TransactionReads } from '../ports/store/transactions.js';
import { pause } from '../work/abort.js';
import type { Clock } from '../work/clock.js';
import type { Log } from '../work/log.js';
import { type Repeating, repeat } from '../work/repeat.js';

/** The dependencies of the transaction cleaner. */
export interface TransactionCleanerDeps {
  readonly store: StoreFor<TransactionReads, TransactionChanges>;
  readonly clock: Clock;
  readonly log: Log;
  /** Transactions that became final longer ago are deleted. */
  readonly expirationHours: number;
}

const hourMs = 60 * 60 * 1000;
const intervalMs = 60 * 1000;
/** Transactions read at a time, and the maximum deleted in one commit. */
const batchSize = 100;
/** If this many of a relayer's oldest transactions are all open, the cleaner leaves the relayer alone until some become final. */
const maxBatchSize = 3_200;
/** A gap between two commits, so that other commits get through. */
const batchGapMs = 20;

/** Starts to delete old final transactions, now and every minute. */
export function startTransactionCleaner({ store, clock, log, expirationHours }: TransactionCleanerDeps): Repeating {
  return repeat(clean, intervalMs, { onError: (error) => log.error({ err: error }, 'cannot delete old transactions') });

  async function clean(signal: AbortSignal): Promise<void> {
    const beforeMs = clock.nowMs() - expirationHours * hourMs;
    let removed = 0;
    for (const relayerId of await store.read.relayersWithFinished()) removed += await cleanRelayer(relayerId, beforeMs, signal);
    if (removed > 0) log.info({ removed, expirationHours }, 'old transactions deleted');
  }

  async function cleanRelayer(relayerId: string, beforeMs: number, signal: AbortSignal): Promise<number> {
    let removed = 0;
    for (let size = batchSize; size <= maxBatchSize && !signal.aborted; ) {
      const oldest = await store.read.oldestTransactions(relayerId, size);
      const removal = removeOldest(store.change, relayerId, oldest, beforeMs);
      if (removal.removed > 0) {
        await store.commit(removal.changes);
        removed += removal.removed;
        await pause(batchGapMs, signal);
      } else if (removal.isHeldUp && oldest.length === size) {
        size *= 2;
      } else break;
    }
    return removed;
  }
}

/** A removal of some of a relayer's oldest transactions. */
export interface Removal {
  readonly removed: number;
  /** To be committed together, in this order. */
  readonly changes: readonly Change[];
  /** None of them can be removed before others become final, so a larger batch must be read. */
  readonly isHeldUp: boolean;
}

/**
 * Plans the removal of the transactions that became final before this time. `oldest` starts at the relayer's first and has no gaps.
 *
 * Pages are found by place, so places must stay without gaps: the remaining transactions move up into the places of the removed ones, the
 * youngest first, so that no place is taken twice. They are few, because transactions end in about the order of their acceptance.
 */
export function removeOldest(change: TransactionChanges, relayerId: string, oldest: readonly OldTransaction[], beforeMs: number): Removal {
  const isRemoved = ({ endedAtMs, isNeeded }: OldTransaction): boolean => endedAtMs !== null && endedAtMs < beforeMs && !isNeeded;
  const removed = oldest.filter(isRemoved);
  const moves: Change[] = [];
  let freed = 0;
  for (const transaction of oldest.toReversed()) {
    if (isRemoved(transaction)) freed += 1;
    else if (freed > 0) moves.push(change.moveTransaction(transaction.id, transaction.place, transaction.place + freed));
  }
  return {
    removed: removed.length,
    changes: [...removed.map(({ id }) => change.removeTransaction({ id, relayerId })), ...moves],
    isHeldUp: oldest.length > 0 && oldest.every(({ endedAtMs, isNeeded }) => endedAtMs === null || isNeeded),
  };
}
