import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { systemClock } from '../../core/work/clock.js';
import type { Log } from '../../core/work/log.js';
import type { Database, LockedDatabase } from '../database/database.js';
import { migrate } from '../database/migrate.js';
import { postgres } from '../sql/dialect.js';
import { chooseServer } from './choose-server.js';
import { requireOwnSession } from './own-session.js';
import { createPostgresBatch } from './postgres-batch.js';
import { createPostgresLink } from './postgres-link.js';
import { type LockedWriter, takePostgresLock } from './postgres-lock.js';
import { openReaders } from './postgres-readers.js';
import { connectionOptions, connectPostgresWriter, endConnection } from './postgres-writer.js';
import { requireSequences } from './require-sequences.js';

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
  await chooseServer(connectionString);
  const { writer, lost } = await connectPostgresWriter(connectionString);
  const readers = openReaders(connectionString, log);
  const run = createPostgresBatch(writer);
  return {
    runBatch: (lists) => run(lists, null),
    query: readers.query,
    own: () => Promise.reject(new Error('only a process that holds the lock is recorded')),
    ownNumber: () => 1,
    connections: () => 1,
    isRemoved: () => false,
    rewind: () => null,
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

function openLocked(connectionString: string, locked: LockedWriter, { log, name, isShared }: LockPostgresOptions): Database {
  const readers = openReaders(connectionString, log);
  const listeners: (() => void)[] = [];
  const onReturn = () => {
    readers.renew();
    for (const listener of listeners) listener();
  };
  const link = createPostgresLink(locked, { connectionString, name, isShared, clock: systemClock, log, onReturn });
  return {
    runBatch: link.runBatch,
    query: (statement, values) => link.readDurable(() => readers.query(statement, values)),
    own: link.own,
    ownNumber: link.ownNumber,
    connections: link.connections,
    isRemoved: link.isRemoved,
    rewind: link.rewind,
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
  /** True: together with other instances. */
  readonly isShared: boolean;
  /** The name of the connection that holds the lock. */
  readonly name: string | undefined;
}

const unchecked =
  'the sslmode of DATABASE_URL does not check the certificate of the PostgreSQL server, so another server can pose as it; use sslmode=verify-full';

/** A database whose instance lock this process holds, and the schema of its tables. */
export interface LockedPostgres extends LockedDatabase {
  readonly schema: string;
}

/** Takes the instance lock of a database. Throws `DatabaseLockedError`, or an error if a pooler would give the lock to others. */
export async function lockPostgres(connectionString: string, options: LockPostgresOptions): Promise<LockedPostgres> {
  const { name, isShared, log } = options;
  const { ssl } = connectionOptions(connectionString);
  if (ssl && ssl.rejectUnauthorized === false) log.warn({}, unchecked);
  await chooseServer(connectionString);
  await requireOwnSession(connectionString);
  const locked = await takePostgresLock(connectionString, { name, isShared });
  return {
    schema: locked.schema,
    migrate: () => migrateSchema(connectionString, locked.schema),
    async open() {
      await requireSequences(locked.writer);
      return openLocked(connectionString, locked, options);
    },
    unlock: () => endConnection(locked.writer),
  };
}
