import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { systemClock } from '../core/ports/clock.js';
import type { Log } from '../core/ports/log.js';
import type { Store } from '../core/ports/store.js';
import type { Meter } from '../core/ports/telemetry.js';
import { BoundChange, step } from './bound-change.js';
import { createStore } from './create-store.js';
import type { Database, LockedDatabase } from './database.js';
import { addressFromUrl } from './database-url.js';
import { postgres, sqlite } from './dialect.js';
import type { StandbyOptions } from './postgres/postgres-standby.js';
import { lockSqlite } from './sqlite/open-sqlite.js';
import { compileStatements, type Statements } from './statements/all-statements.js';

/** A store that is ready. */
export interface OpenedStore {
  readonly store: Store;
  /** The names of the migrations that ran. */
  readonly migrations: readonly string[];
  /** Resolves with the reason when the database is lost to this process: every later commit fails, so the process should end. */
  readonly lost: Promise<Error>;
  /** True while the connection to PostgreSQL is lost: every write fails until it is back. */
  isAway(): boolean;
  /** Calls `listener` each time that PostgreSQL is back. Another server may have taken over, and may lack the last commits. */
  onReturn(listener: () => void): void;
  /** Returns the size of SQLite's write-ahead log; 0 on PostgreSQL. */
  logBytes(): number;
}

/** How to open a database. */
interface OpenOptions {
  readonly log: Log;
  readonly meter?: Meter;
  /** How to wait while another process uses a PostgreSQL database; null: not at all. */
  readonly standby?: StandbyOptions | null;
  /** The version of the program, which `listInstances` shows; absent for a command, which works only briefly. */
  readonly version?: string;
}

async function lockDatabase(
  databaseUrl: string,
  { log, standby = null, version }: OpenOptions,
): Promise<{ locked: LockedDatabase; statements: Statements }> {
  const address = addressFromUrl(databaseUrl);
  if (address.dialect === 'sqlite') return { locked: lockSqlite(address.file), statements: compileStatements(sqlite) };
  const { lockPostgres } = await import('./postgres/open-postgres.js');
  const { connectionNameOf } = await import('./postgres/postgres-instances.js');
  const name = version === undefined ? undefined : connectionNameOf(version);
  return { locked: await lockPostgres(address.connectionString, { log, standby, name }), statements: compileStatements(postgres) };
}

/** Gives a new database its id, and records this process as the owner, also for the error of a process that finds the lock taken. */
async function recordOwner({ own }: Database, { instances, databaseIds }: Statements): Promise<void> {
  const nowMs = systemClock.nowMs();
  const token = randomUUID();
  const row = { number: 1, host: hostname(), pid: process.pid, token, since_ms: nowMs, checked_at_ms: nowMs };
  const identify = step(databaseIds.insertIfMissing, { number: 1, id: randomUUID() });
  await own(new BoundChange('recordOwner', [step(instances.record, row), identify]), token);
}

async function openLocked(locked: LockedDatabase): Promise<{ database: Database; migrations: string[] }> {
  try {
    const migrations = await locked.migrate();
    return { database: await locked.open(), migrations };
  } catch (error) {
    await locked.unlock();
    throw error;
  }
}

/**
 * Opens the database at `sqlite:<file>`, whose folders it makes, or at `postgres://...`: takes the instance lock, runs the migrations and records
 * this process as the holder. Throws `DatabaseLockedError` if another process works on the database and `standby` is not set, and an error whose message is for the
 * operator if the URL is invalid.
 */
export async function openStore(databaseUrl: string, options: OpenOptions): Promise<OpenedStore> {
  const { locked, statements } = await lockDatabase(databaseUrl, options);
  const { database, migrations } = await openLocked(locked);
  try {
    await recordOwner(database, statements);
  } catch (error) {
    await database.close();
    throw error;
  }
  return {
    store: createStore(database, statements, systemClock, options.meter),
    migrations,
    lost: database.lost,
    isAway: database.isAway,
    onReturn: database.onReturn,
    logBytes: database.logBytes,
  };
}

/** Runs the migrations and returns their names. Fails as `openStore` does. */
export async function migrateDatabase(databaseUrl: string, options: { readonly log: Log }): Promise<string[]> {
  const { locked } = await lockDatabase(databaseUrl, options);
  try {
    return await locked.migrate();
  } finally {
    await locked.unlock();
  }
}

/** Returns the same store, which calls `wake` after each commit that makes an event pending. */
export function wakeOnEvents(store: Store, wake: () => void): Store {
  return {
    ...store,
    async commit(changes) {
      await store.commit(changes);
      if (changes.some(({ name }) => name === 'insertEvent' || name === 'redeliverEvent')) wake();
    },
  };
}
