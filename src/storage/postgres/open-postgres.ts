import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { systemClock } from '../../core/ports/clock.js';
import type { Log } from '../../core/ports/log.js';
import type { Database, LockedDatabase } from '../database.js';
import { postgres } from '../dialect.js';
import { migrate } from '../migrate.js';
import { requireOwnSession } from './own-session.js';
import { createPostgresBatch } from './postgres-batch.js';
import { createPostgresLink } from './postgres-link.js';
import { type LockedWriter, takePostgresLock } from './postgres-lock.js';
import { openReaders } from './postgres-readers.js';
import { type StandbyOptions, waitForPostgresLock } from './postgres-standby.js';
import { connectionOptions, connectPostgresWriter, endConnection } from './postgres-writer.js';

async function migrateSchema(connectionString: string, schema: string): Promise<string[]> {
  // No time limit on answers: migrating a large table can take long.
  const { query_timeout: _, ...options } = connectionOptions(connectionString);
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool: new pg.Pool({ ...options, max: 2 }) }) });
  try {
    return await migrate(db, postgres, schema);
  } finally {
    await db.destroy();
  }
}

/** Opens a database without its instance lock, beside the process that holds it. Must not write nonces, which the lock protects. */
export async function openPostgresBeside(connectionString: string, log: Log): Promise<Database> {
  const { writer, lost } = await connectPostgresWriter(connectionString);
  const readers = openReaders(connectionString, log);
  const run = createPostgresBatch(writer);
  return {
    runBatch: (lists) => run(lists, null),
    query: readers.query,
    own: () => Promise.reject(new Error('only the process that holds the lock owns the database')),
    lost,
    isAway: () => false,
    onReturn: () => undefined,
    logBytes: () => 0,
    close: async () => {
      await readers.end();
      await endConnection(writer);
    },
  };
}

function openLocked(connectionString: string, locked: LockedWriter, { log, name }: LockPostgresOptions): Database {
  const readers = openReaders(connectionString, log);
  const listeners: (() => void)[] = [];
  const onReturn = () => {
    readers.renew();
    for (const listener of listeners) listener();
  };
  const link = createPostgresLink(locked, { connectionString, name, clock: systemClock, log, onReturn });
  return {
    runBatch: link.runBatch,
    query: (statement, values) => link.readDurable(() => readers.query(statement, values)),
    own: link.own,
    lost: link.lost,
    isAway: link.isAway,
    onReturn: (listener) => void listeners.push(listener),
    logBytes: () => 0,
    close: async () => {
      await readers.end();
      await link.end();
    },
  };
}

/** How to take the lock of a database. */
export interface LockPostgresOptions {
  readonly log: Log;
  readonly standby: StandbyOptions | null;
  /** The name of the connection that holds the lock, or waits for it. */
  readonly name: string | undefined;
}

/**
 * Takes the instance lock of a database. If another process holds it, waits as `standby` says; null: throws `DatabaseLockedError`. Throws, too, if a pooler
 * would give the lock to others.
 */
export async function lockPostgres(connectionString: string, options: LockPostgresOptions): Promise<LockedDatabase> {
  const { log, standby, name } = options;
  await requireOwnSession(connectionString);
  const locked = await (standby === null
    ? takePostgresLock(connectionString, { name })
    : waitForPostgresLock(connectionString, { ...standby, log, name }));
  return {
    migrate: () => migrateSchema(connectionString, locked.schema),
    open: async () => openLocked(connectionString, locked, options),
    unlock: () => endConnection(locked.writer),
  };
}
