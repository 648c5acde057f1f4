import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import type { Log } from '../../core/ports/log.js';
import type { Database, LockedDatabase } from '../database.js';
import { postgres } from '../dialect.js';
import { migrate } from '../migrate.js';
import type { Query } from '../reads.js';
import type { Statement } from '../statement.js';
import { createPostgresBatch } from './postgres-batch.js';
import { takePostgresLock } from './postgres-lock.js';
import { connectionOptions, connectPostgresWriter, type PostgresWriter, prepareSession } from './postgres-writer.js';

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

function openDatabase(connectionString: string, { writer, lost }: PostgresWriter, log: Log): Database {
  const readers = new pg.Pool({ ...connectionOptions(connectionString), max: maxReaders });
  // The pool replaces a broken idle connection. Without a listener, its error would end the process.
  readers.on('error', (error) => log.warn({ err: error }, 'an idle database connection broke; the pool replaces it'));
  // The first query of the connection waits for this one.
  readers.on(
    'connect',
    (reader) =>
      void prepareSession(reader).catch((error: unknown) => log.warn({ err: error }, 'a database connection could not be prepared')),
  );
  const query: Query = async <P extends object, R>(statement: Statement<P, R>, values: P) => {
    const bound = statement.bind(values);
    // PostgreSQL stores no text with a zero byte and refuses it as a value, so such a query finds nothing.
    if (bound.some((value) => typeof value === 'string' && value.includes('\0'))) return [];
    const result = await readers.query({ name: statement.name, text: statement.sql, values: bound });
    return result.rows as R[];
  };
  const runBatch = createPostgresBatch(writer);
  return {
    runBatch,
    query,
    // The connection that writes holds the lock, which fences more than a token could.
    async own(change) {
      const [outcome] = await runBatch([[change]]);
      if (outcome !== undefined) throw outcome;
    },
    lost,
    logBytes: () => 0,
    close: async () => {
      await readers.end();
      await writer.end();
    },
  };
}

/** Opens a database without its instance lock, beside the process that holds it. Must not write what the lock protects: nonces. */
export async function openPostgresBeside(connectionString: string, log: Log): Promise<Database> {
  return openDatabase(connectionString, await connectPostgresWriter(connectionString), log);
}

/** Takes the instance lock of a database. Throws `DatabaseLockedError` if another process holds it. */
export async function lockPostgres(connectionString: string, log: Log): Promise<LockedDatabase> {
  const connected = await takePostgresLock(connectionString);
  const { writer, lost, schema } = connected;

  async function open(): Promise<Database> {
    void lost.then((error) =>
      log.error(
        { err: error },
        'the database connection that holds the instance lock was lost; nothing can be written until the service restarts',
      ),
    );
    return openDatabase(connectionString, connected, log);
  }

  return { migrate: () => migrateSchema(connectionString, schema), open, unlock: () => writer.end() };
}
