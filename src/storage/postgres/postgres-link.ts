import pg from 'pg';
import type { Backend } from '../../core/ports/shared-database.js';
import { StoreAwayError } from '../../core/ports/store/change.js';
import { inTime, pause } from '../../core/work/abort.js';
import { type Clock, monotonicMs } from '../../core/work/clock.js';
import type { Log } from '../../core/work/log.js';
import type { ChangeList, Outcome, RunBatch } from '../database/commit-queue.js';
import type { Database } from '../database/database.js';
import { DatabaseLockedError } from '../database/database-locked-error.js';
import { asStoreAway } from '../database/store-away.js';
import { postgres } from '../sql/dialect.js';
import { instanceStatements, type OwnRow } from '../statements/instances.js';
import { leaseStatements } from '../statements/leases.js';
import { connectionOf, createOwnRecord, RemovedError, RewoundError } from './own-record.js';
import { createPostgresBatch, LostConnectionError, NotOwnerError, type RunFencedBatch, UnansweredCommitError } from './postgres-batch.js';
import { type LockedWriter, takePostgresLock } from './postgres-lock.js';
import { endConnection, withoutWarning } from './postgres-writer.js';

/** How long a batch waits for a connection, counted from its loss. After that, writes fail at once until it is back. */
const patienceMs = 1_000;
/** A batch that loses its connection this often in a row fails. */
const maxLosses = 3;
/** A batch that took so long before its connection was lost fails too: it may itself take the time. */
const longBatchMs = 5_000;
/**
 * Reconnecting is tried again after the first delay, which doubles up to the longest. Others wait longer than that before they remove an
 * instance.
 */
const reconnectDelayMs = { first: 50, longest: 500 };
const reconnectTimeoutMs = 3_000;
const releaseTimeoutMs = 300;
/** Earlier batches of an instance are deleted after each of this number. */
const forgetEvery = 500;

/** The writing side of a database, which reconnects when its connection is lost. */
export interface PostgresLink {
  /**
   * A batch whose connection is lost is written by the next one. If the commit got no answer, the next connection first reads whether the
   * batch was written. Throws StoreAwayError if there is no connection in time; the batch may be written then.
   */
  readonly runBatch: RunBatch;
  /**
   * Runs a read, again if the connection was lost meanwhile. Without a connection that writes, a server may show commits that its
   * synchronous standby lacks, and that are gone after a promotion: PostgreSQL shows a commit that stopped waiting for the standby because
   * its connection was ended. Throws StoreAwayError if there is no connection in time.
   */
  readDurable<T>(read: () => Promise<T>): Promise<T>;
  /** See `Database.own`. From then on a lost connection is replaced. */
  readonly own: Database['own'];
  /** See `Database.ownNumber`. */
  ownNumber(): number;
  /** See `Database.connections`. */
  connections(): number;
  /** True if another instance has removed the record of this one: writes fail with StoreAwayError until it has joined again. */
  isRemoved(): boolean;
  /** See `Database.rewind`. */
  rewind(): string | null;
  /** See `Database.lost`. */
  readonly lost: Promise<Error>;
  /** See `Database.isAway`. */
  isAway(): boolean;
  /** Releases the database, so that others take over at once, and ends the connection. */
  end(): Promise<void>;
}

/** The parts that make a link. */
export interface PostgresLinkDeps {
  readonly connectionString: string;
  /** See `LockOptions`. */
  readonly name: string | undefined;
  readonly isShared: boolean;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when a new connection replaces a lost one, before anything is written on it. */
  readonly onReturn: () => void;
}

/** A connection in use. */
interface Session {
  readonly locked: LockedWriter;
  readonly run: RunFencedBatch;
  /** The last batch that was written before this connection. */
  readonly batchBefore: number | null;
}

const statements = instanceStatements(postgres);
const { release, leave, forgetBatches } = statements;
const { giveAll } = leaseStatements(postgres.builder);

/** True if the connection cannot be used after this error, or leads to a server that cannot be written. */
function endsConnection(error: unknown): boolean {
  if (error instanceof LostConnectionError) return true;
  if (!(error instanceof pg.DatabaseError)) return asStoreAway(error) instanceof StoreAwayError;
  // 26000: another program has reset the session, and with it the lock may be gone.
  return error.code === '25006' || error.code === '26000' || error.code?.startsWith('08') === true;
}

/**
 * True if another process uses the database. If the lock alone is taken, it may still be held by the lost connection, or by a process that
 * begins.
 */
function isTakenOver(error: unknown, own: OwnRow | null): boolean {
  if (own === null) return false;
  if (error instanceof NotOwnerError) return true;
  return error instanceof DatabaseLockedError && error.holder !== undefined && error.holder.token !== own.token;
}

/** Makes the link from its first connection, which holds the lock. */
export function createPostgresLink(
  first: LockedWriter,
  { connectionString, name, isShared, clock, log, onReturn }: PostgresLinkDeps,
): PostgresLink {
  const ending = new AbortController();
  let session: Session | null = null;
  const record = createOwnRecord({ isShared, statements, clock, log });
  let lostAtMs = 0;
  let returning: Promise<void> = Promise.resolve();
  let refusedCommits = 0;
  let connections = 0;
  use(first, null);

  function use(locked: LockedWriter, batchBefore: number | null): void {
    const opened: Session = { locked, run: createPostgresBatch(locked.writer), batchBefore };
    session = opened;
    connections += 1;
    void locked.lost.then((cause) => drop(opened, cause));
  }

  /** Gives up a connection, and begins to replace it. */
  function drop(broken: Session, cause: Error): void {
    if (session !== broken || ending.signal.aborted) return;
    session = null;
    lostAtMs = monotonicMs();
    void endConnection(broken.locked.writer).catch(() => undefined);
    if (record.row() === null && !record.isRemoved()) {
      record.lose(cause);
      return;
    }
    log.warn({ err: cause }, 'the database connection was lost; reconnecting');
    returning = reconnect(broken.locked.backend);
  }

  async function reconnect(replaces: Backend): Promise<void> {
    const warn = warningOnce(log);
    for (let failures = 0; !ending.signal.aborted; failures += 1) {
      try {
        await replace(replaces);
        return;
      } catch (error) {
        if (!isShared && isTakenOver(error, record.row())) {
          log.error({ err: record.lose(new NotOwnerError()) }, 'another process took over the database while the connection was lost');
          return;
        }
        warn(error);
      }
      await pause(Math.min(reconnectDelayMs.longest, reconnectDelayMs.first * 2 ** failures), ending.signal);
    }
  }

  /** Connects again. A process that uses the database alone must still be its owner. */
  async function replace(replaces: Backend): Promise<void> {
    const locked = await takePostgresLock(connectionString, { replaces, name, isShared, connectTimeoutMs: reconnectTimeoutMs });
    try {
      const batch = await withoutWarning(locked.writer, () => record.moveTo(locked));
      if (ending.signal.aborted) throw new Error('the store is closed');
      onReturn();
      use(locked, batch);
      log.info({ awayMs: Math.round(monotonicMs() - lostAtMs) }, 'the database connection is back');
    } catch (error) {
      await endConnection(locked.writer);
      throw error;
    }
  }

  async function connected(): Promise<Session> {
    const leftMs = lostAtMs + patienceMs - monotonicMs();
    if (session === null && leftMs > 0) await inTime(returning, leftMs, undefined);
    const loss = record.loss();
    if (loss !== null) throw loss;
    if (session === null) throw new StoreAwayError('the database is unavailable: the connection was lost and is not back yet');
    return session;
  }

  const runBatch: RunBatch = async (lists) => {
    try {
      record.requireJoined();
      return await write(lists);
    } catch (error) {
      if (error instanceof NotOwnerError || error instanceof RemovedError || error instanceof RewoundError) refusedCommits += lists.length;
      throw error;
    }
  };

  async function write(lists: readonly ChangeList[]): Promise<readonly Outcome[]> {
    for (let losses = 1; ; losses += 1) {
      const current = await connected();
      const begunMs = monotonicMs();
      const { row, batch, statement } = record.fence(current.locked);
      try {
        const outcomes = await current.run(lists, statement);
        record.answered(batch);
        if (batch % forgetEvery === 0) forget(current.locked.writer, row.number, batch);
        return outcomes;
      } catch (error) {
        if (error instanceof NotOwnerError) throw await record.refusal(current.locked, row);
        const isUnanswered = error instanceof UnansweredCommitError;
        if (!isUnanswered && session === current && !endsConnection(error)) throw error;
        const isLong = monotonicMs() - begunMs >= longBatchMs;
        drop(current, error as Error);
        const next = await connected();
        if (isUnanswered && next.batchBefore === batch) return error.outcomes;
        // It is not written.
        if (losses >= maxLosses || isLong) failWithoutConnection(error);
      }
    }
  }

  async function readDurable<T>(read: () => Promise<T>): Promise<T> {
    for (let losses = 0; losses < maxLosses; losses += 1) {
      const before = await connected().catch((cause: Error) => {
        throw cause instanceof StoreAwayError ? cause : new StoreAwayError(cause.message, { cause });
      });
      const result = await read();
      // A connection begins with a commit that the standby has, so the standby also has what was visible before.
      if (session === before) return result;
    }
    throw new StoreAwayError('the database is unavailable: the connection was lost repeatedly');
  }

  return {
    runBatch,
    readDurable,
    async own(recordOf) {
      const { locked, run } = await connected();
      const { own, change } = recordOf(connectionOf(locked));
      const [outcome] = await run([[change]], null).catch(failWithoutConnection);
      if (outcome !== undefined) throw outcome;
      if (refusedCommits > 0) log.warn({ refusedCommits }, 'commits rejected: another instance took over the work of this one');
      refusedCommits = 0;
      record.taken(own);
      return own;
    },
    ownNumber: () => record.row()?.number ?? 0,
    connections: () => connections,
    isRemoved: record.isRemoved,
    rewind: record.rewind,
    lost: record.lost,
    isAway: () => session === null || record.isRemoved(),
    async end() {
      ending.abort();
      await returning;
      if (refusedCommits > 0) log.warn({ refusedCommits }, 'commits rejected: another process took over the database');
      if (session === null) return;
      await releaseDatabase(session.locked, record.row(), isShared);
      await endConnection(session.locked.writer);
    },
  };
}

/** Logs an error unless the last one had the same message. */
function warningOnce(log: Log): (error: unknown) => void {
  let logged = '';
  return (error) => {
    const message = error instanceof Error ? error.message : String(error);
    if (message !== logged) log.warn({ err: error }, 'cannot reach the database; retrying');
    logged = message;
  };
}

/** Throws what a batch fails with: `StoreAwayError` if its connection was lost. */
function failWithoutConnection(error: unknown): never {
  throw asStoreAway(error instanceof UnansweredCommitError || error instanceof LostConnectionError ? error.cause : error);
}

/** Deletes the records of earlier batches. If that fails, one of the next times does it. */
function forget(writer: pg.Client, number: number, before: number): void {
  writer.query(forgetBatches.sql, forgetBatches.bind({ number, from: before - 10 * forgetEvery, before })).catch(() => undefined);
}

/** Gives up the lock. Without this, others take over a little later. */
async function releaseDatabase({ writer }: LockedWriter, row: OwnRow | null, isShared: boolean): Promise<void> {
  if (row === null) return;
  const freed = isShared ? writer.query(giveAll.sql, giveAll.bind({ holder: row.number })) : Promise.resolve();
  const [sql, values] = isShared ? [leave.sql, leave.bind(row)] : [release.sql, release.bind(row)];
  const released = Promise.all([freed, writer.query(sql, values)]).catch(() => undefined);
  await inTime(released, releaseTimeoutMs, undefined);
}
