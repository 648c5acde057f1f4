import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { systemClock } from '../../core/ports/clock.js';
import type { Log } from '../../core/ports/log.js';
import type { Database, LockedDatabase } from '../database.js';
import { postgres } from '../dialect.js';
import { migrate } from '../migrate.js';
import type { Query } from '../reads.js';
import type { Statement } from '../statement.js';
import { requireOwnSession } from './own-session.js';
import { createPostgresBatch } from './postgres-batch.js';
import { createPostgresLink } from './postgres-link.js';
import { type LockedWriter, takePostgresLock } from './postgres-lock.js';
import { connectionOptions, connectPostgresWriter, endConnection, prepareSession } from './postgres-writer.js';

const maxReaders = 8;

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

/** The reading side of a database. */
interface Readers {
  readonly query: Query;
  /** Replaces all connections: the earlier ones may lead to a server that has lost its place. */
  renew(): void;
  end(): Promise<void>;
}

function openReaders(connectionString: string, log: Log): Readers {
  let pool = openPool();
  const ending = new Set<Promise<void>>();

  function openPool(): pg.Pool {
    const readers = new pg.Pool({ ...connectionOptions(connectionString), max: maxReaders });
    // The pool replaces a broken idle connection. Without a listener, its error would end the process.
    readers.on('error', (error: Error & { client?: unknown }) => {
      // It holds the secret with which the server accepts a cancel request.
      delete error.client;
      log.warn({ err: error }, 'an idle database connection broke; the pool replaces it');
    });
    // The first query of the connection waits for this one.
    readers.on(
      'connect',
      (reader) =>
        void prepareSession(reader, 'reader').catch((error: unknown) =>
          log.warn({ err: error }, 'a database connection could not be prepared'),
        ),
    );
    return readers;
  }

  return {
    async query<P extends object, R>(statement: Statement<P, R>, values: P) {
      const bound = statement.bind(values);
      // PostgreSQL stores no text with a zero byte and refuses it as a value, so such a query finds nothing.
      if (bound.some((value) => typeof value === 'string' && value.includes('\0'))) return [];
      const result = await pool.query({ name: statement.name, text: statement.sql, values: bound });
      return result.rows as R[];
    },
    renew() {
      const ended = pool.end().finally(() => ending.delete(ended));
      ending.add(ended);
      pool = openPool();
    },
    async end() {
      await Promise.all([pool.end(), ...ending]);
    },
  };
}

/** Opens a database without its instance lock, beside the process that holds it. Must not write what the lock protects: nonces. */
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

function openLocked(connectionString: string, locked: LockedWriter, log: Log): Database {
  const readers = openReaders(connectionString, log);
  const listeners: (() => void)[] = [];
  const onReturn = () => {
    readers.renew();
    for (const listener of listeners) listener();
  };
  const link = createPostgresLink(locked, { connectionString, clock: systemClock, log, onReturn });
  return {
    runBatch: link.runBatch,
    query: readers.query,
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

/** Takes the instance lock of a database. Throws `DatabaseLockedError` if another process holds it, and if a pooler would give it to others. */
export async function lockPostgres(connectionString: string, log: Log): Promise<LockedDatabase> {
  await requireOwnSession(connectionString);
  const locked = await takePostgresLock(connectionString);
  return {
    migrate: () => migrateSchema(connectionString, locked.schema),
    open: async () => openLocked(connectionString, locked, log),
    unlock: () => endConnection(locked.writer),
  };
}
