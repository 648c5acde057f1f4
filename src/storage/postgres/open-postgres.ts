import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import type { Log } from '../../core/ports/log.js';
import type { Database, LockedDatabase } from '../database.js';
import { postgres } from '../dialect.js';
import { migrate } from '../migrate.js';
import type { Query } from '../reads.js';
import type { Statement } from '../statement.js';
import { createPostgresBatch } from './postgres-batch.js';
import { connectionOptions } from './postgres-connection.js';
import { takePostgresLock } from './postgres-lock.js';
import { connectPostgresWriter, type PostgresWriter } from './postgres-writer.js';

const maxReaders = 8;

async function migrateSchema(connectionString: string): Promise<string[]> {
  // No limit on answers here: a migration of a large table takes the time that it takes.
  const { query_timeout: _, ...options } = connectionOptions(connectionString);
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool: new pg.Pool({ ...options, max: 2 }) }) });
  try {
    return await migrate(db, postgres);
  } finally {
    await db.destroy();
  }
}

function openReaders(connectionString: string, log: Log): pg.Pool {
  const readers = new pg.Pool({ ...connectionOptions(connectionString), max: maxReaders });
  // The pool replaces an idle connection that broke; without a listener it would end the process.
  readers.on('error', (error) => log.warn({ err: error }, 'an idle connection to the database broke'));
  return readers;
}

/** Makes a database of a connection that writes. */
function openDatabase(connectionString: string, { writer, lost }: PostgresWriter, log: Log): Database {
  const readers = openReaders(connectionString, log);
  const query: Query = async <P extends object, R>(statement: Statement<P, R>, values: P) => {
    const bound = statement.bind(values);
    // PostgreSQL holds no text with a zero byte and refuses to look for one: nothing is found by it.
    if (bound.some((value) => typeof value === 'string' && value.includes('\0'))) return [];
    const result = await readers.query({ name: statement.name, text: statement.sql, values: bound });
    return result.rows as R[];
  };
  return {
    runBatch: createPostgresBatch(writer),
    query,
    lost,
    close: async () => {
      await readers.end();
      await writer.end();
    },
  };
}

/** Opens a database that another process works on, without its lock. What is written must not be what the lock is there for. */
export async function openPostgresBeside(connectionString: string, log: Log): Promise<Database> {
  return openDatabase(connectionString, await connectPostgresWriter(connectionString), log);
}

/** Takes the instance lock of a database. Throws `DatabaseLockedError` when another process has it. */
export async function lockPostgres(connectionString: string, log: Log): Promise<LockedDatabase> {
  const connected = await takePostgresLock(connectionString);
  const { writer, lost } = connected;

  async function open(): Promise<Database> {
    void lost.then((error) => log.error({ err: error }, 'nothing can be written any more: restart the service'));
    return openDatabase(connectionString, connected, log);
  }

  return { migrate: () => migrateSchema(connectionString), open, unlock: () => writer.end() };
}
