import { type Change, ConflictError, StoreAwayError, StoreBrokenError } from '../core/ports/store/change.js';
import type { Store } from '../core/ports/store/store.js';
import { type Meter, noMeter } from '../core/ports/telemetry.js';
import { type Clock, monotonicMs } from '../core/work/clock.js';
import type { Log } from '../core/work/log.js';
import { createCommitQueue } from './database/commit-queue.js';
import type { Database } from './database/database.js';
import { withStoreAway } from './database/store-away.js';
import { BoundChange, step } from './sql/bound-change.js';
import { createChanges, createReads, type Statements } from './statements/all-statements.js';
import { aloneNumber } from './statements/instances.js';

function boundChanges(changes: readonly Change[]): readonly BoundChange[] {
  return changes.map((change) => {
    if (!(change instanceof BoundChange)) throw new TypeError(`the change ${change.name} was not made by a store`);
    return change;
  });
}

/** After this many failed commits in a row the store does not work, even if a check succeeds. */
const maxFailedCommits = 3;
/** How long they count after the last one. */
const failuresCountMs = 30_000;
/** A read that acts, and whose connection is lost this often in a row, fails. */
const maxLosses = 3;
/** An answered commit shows for this long that the store works: a check behind a rush of commits would take too long. */
const successCountsMs = 2_000;

/** What a store needs besides its database. */
export interface StoreDeps {
  readonly clock: Clock;
  readonly log: Pick<Log, 'error'>;
  readonly meter?: Meter;
}

/** Makes a store on an opened database. */
export function createStore(database: Database, statements: Statements, { clock, log, meter = noMeter }: StoreDeps): Store {
  const { query, runBatch } = withStoreAway(database);
  const queue = createCommitQueue(runBatch, meter);
  let closing: Promise<void> | undefined;
  let failedCommits = 0;
  let lastFailureMs = 0;
  let lastSuccessMs = Number.NEGATIVE_INFINITY;
  /** The last failure that a check cannot see, because it does not use what is broken. */
  let broken: { readonly error: StoreBrokenError; readonly atMs: number } | null = null;
  let logged: string | null = null;

  function logBroken(error: unknown): void {
    if (!(error instanceof StoreBrokenError) || error.message === logged) return;
    logged = error.message;
    log.error({ err: error }, 'the database rejects valid statements; the service is not ready until it is repaired');
  }

  async function commit(changes: readonly Change[]): Promise<void> {
    try {
      await queue.commit(boundChanges(changes));
    } catch (error) {
      // A conflict shows that the database works. The check itself finds whether it is back after it was away.
      failedCommits = error instanceof ConflictError || error instanceof StoreAwayError ? 0 : failedCommits + 1;
      lastFailureMs = monotonicMs();
      if (!(error instanceof ConflictError)) lastSuccessMs = Number.NEGATIVE_INFINITY;
      if (error instanceof StoreBrokenError && !error.failsAllWrites) broken = { error, atMs: lastFailureMs };
      logBroken(error);
      throw error;
    }
    failedCommits = 0;
    lastSuccessMs = monotonicMs();
  }

  /** After a while the failures prove nothing: without callers no commit succeeds either, and callers wait until the service is ready. */
  function requireCommitsThatSucceed(): void {
    const nowMs = monotonicMs();
    if (broken !== null && nowMs - broken.atMs < failuresCountMs) throw broken.error;
    if (failedCommits >= maxFailedCommits && nowMs - lastFailureMs < failuresCountMs)
      throw new Error(`the last ${failedCommits} commits failed`);
  }

  return {
    change: createChanges(statements),
    read: createReads(statements, query),
    commit,
    // Only a real write shows a full disk, a read-only file system or a lost lock; and it shows nothing of the tables that sends use.
    async checkWorking() {
      requireCommitsThatSucceed();
      if (monotonicMs() - lastSuccessMs < successCountsMs) return;
      const number = database.ownNumber();
      const touch = step(statements.instances.touch, { number, checked_at_ms: clock.nowMs() });
      try {
        // An instance that shares the database records each batch, which is a write. Beside an open snapshot, all its batches would walk
        // over the versions of its row that checks leave.
        await queue.commit([new BoundChange('checkWorking', number === aloneNumber ? [touch] : [])]);
        await query(statements.transactions.byId, { id: '' });
      } catch (error) {
        logBroken(error);
        throw error;
      }
      logged = null;
    },
    async readDurable(read, acts) {
      for (let losses = 0; losses < maxLosses; losses += 1) {
        const before = database.connections();
        const result = await read();
        // A process that uses the database alone reads only what it has committed itself.
        if (database.ownNumber() === aloneNumber || !acts(result)) return result;
        await queue.commit([new BoundChange('readDurable', [])]);
        if (database.connections() === before) return result;
      }
      throw new StoreAwayError('the database is unavailable: the connection was lost repeatedly');
    },
    close: () => {
      closing ??= queue.close().then(database.close);
      return closing;
    },
  };
}
