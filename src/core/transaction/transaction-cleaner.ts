import { setTimeout as elapsed } from 'node:timers/promises';
import type { Clock } from '../ports/clock.js';
import type { Log } from '../ports/log.js';
import type { Change, Changes, OldTransaction, Store } from '../ports/store.js';

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

/** Which of a relayer's oldest transactions are removed, and where the others go. */
export interface Removal {
  readonly removed: number;
  /** For one commit, in this order. */
  readonly changes: readonly Change[];
  /** None of them may be removed ever, until others end: more must be looked at. */
  readonly isHeldUp: boolean;
}

/**
 * Removes those that ended before this time. `oldest`: from the first on, in order, without gaps.
 *
 * Places stay without gaps, since a page is found by its place: those that stay move up into the places of the removed ones, the youngest first,
 * so that no place is taken twice. They are few: transactions end in about the order in which they were accepted.
 */
export function removeOldest(
  change: Pick<Changes, 'removeTransaction' | 'moveTransaction'>,
  oldest: readonly OldTransaction[],
  beforeMs: number,
): Removal {
  const isRemoved = ({ endedAtMs, sharesSlot }: OldTransaction): boolean => endedAtMs !== null && endedAtMs < beforeMs && !sharesSlot;
  const removed = oldest.filter(isRemoved);
  const moves: Change[] = [];
  let freed = 0;
  for (const transaction of oldest.toReversed()) {
    if (isRemoved(transaction)) freed += 1;
    else if (freed > 0) moves.push(change.moveTransaction(transaction.id, transaction.place, transaction.place + freed));
  }
  return {
    removed: removed.length,
    changes: [...removed.map(({ id }) => change.removeTransaction(id)), ...moves],
    isHeldUp: oldest.length > 0 && oldest.every(({ endedAtMs, sharesSlot }) => endedAtMs === null || sharesSlot),
  };
}
