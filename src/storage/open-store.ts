import { hostname } from 'node:os';
import { systemClock } from '../core/ports/clock.js';
import type { Log } from '../core/ports/log.js';
import type { Meter } from '../core/ports/meter.js';
import type { Store } from '../core/ports/store.js';
import { BoundChange, step } from './bound-change.js';
import { createStore } from './create-store.js';
import type { Database, LockedDatabase } from './database.js';
import { addressFromUrl } from './database-url.js';
import { postgres, sqlite } from './dialect.js';
import { lockPostgres } from './postgres/open-postgres.js';
import { lockSqlite } from './sqlite/open-sqlite.js';
import { compileStatements, type Statements } from './statements/all-statements.js';

/** A store that is ready, and what its owner should know. */
export interface OpenedStore {
  readonly store: Store;
  /** Names of the migrations that opening ran. */
  readonly migrations: readonly string[];
  /** Resolves with the reason when the instance lock is lost: every commit fails from then on, so the process should end. Never on SQLite. */
  readonly lost: Promise<Error>;
}

async function lockDatabase(databaseUrl: string, log: Log): Promise<{ locked: LockedDatabase; statements: Statements }> {
  const address = addressFromUrl(databaseUrl);
  if (address.dialect === 'sqlite') return { locked: lockSqlite(address.file), statements: compileStatements(sqlite) };
  return { locked: await lockPostgres(address.connectionString, log), statements: compileStatements(postgres) };
}

/** Writes this process's name down, for whoever finds the lock held. */
async function recordHolder({ runBatch }: Database, { instances }: Statements): Promise<void> {
  const nowMs = systemClock.nowMs();
  const row = { number: 1, host: hostname(), pid: process.pid, since_ms: nowMs, checked_at_ms: nowMs };
  const [outcome] = await runBatch([[new BoundChange('recordHolder', [step(instances.record, row)])]]);
  if (outcome !== undefined) throw outcome;
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
 * Opens the database at `sqlite:<file>` (its folders are made) or `postgres://...`: takes its instance lock, brings its tables to this
 * version and records this process as the holder. Throws `DatabaseLockedError` when another process works on it, and an error with a sentence
 * for the operator when the URL cannot be read.
 */
export async function openStore(databaseUrl: string, options: { readonly log: Log; readonly meter?: Meter }): Promise<OpenedStore> {
  const { locked, statements } = await lockDatabase(databaseUrl, options.log);
  const { database, migrations } = await openLocked(locked);
  try {
    await recordHolder(database, statements);
  } catch (error) {
    await database.close();
    throw error;
  }
  return { store: createStore(database, statements, systemClock, options.meter), migrations, lost: database.lost };
}

/** Brings the tables to this version and returns the names of the migrations that this took. Fails as `openStore` does. */
export async function migrateDatabase(databaseUrl: string, options: { readonly log: Log }): Promise<string[]> {
  const { locked } = await lockDatabase(databaseUrl, options.log);
  try {
    return await locked.migrate();
  } finally {
    await locked.unlock();
  }
}
