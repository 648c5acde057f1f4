import pg from 'pg';
import { DatabaseLockedError } from '../database-locked-error.js';
import { postgres } from '../dialect.js';
import { type Instance, instanceStatements } from '../statements/instances.js';
import { connectionOptions } from './postgres-connection.js';

/** Tells our lock from those of other programs in the same database. */
const lockNumber = 1_919_249_012;

/** The connection that holds the lock. */
export interface PostgresLock {
  /**
   * The one connection that writes is the one that holds the lock: whatever it commits, it commits under the lock. Were they two, another
   * process could take the lock of a dead connection while the other one still writes.
   */
  readonly writer: pg.Client;
  /** Resolves with the reason when the connection is lost. */
  readonly lost: Promise<Error>;
}

/** Undefined where it cannot be told, as while the holder makes the tables. */
async function holderOf(client: pg.Client): Promise<Instance | undefined> {
  const { sql, bind } = instanceStatements(postgres.builder).holder;
  try {
    const { rows } = await client.query<Instance>(sql, bind({ number: 1 }));
    return rows[0];
  } catch {
    return undefined;
  }
}

async function connect(client: pg.Client): Promise<void> {
  try {
    await client.connect();
  } catch (cause) {
    // Node's error for a host of several addresses has a code but no message.
    const { message, code } = cause as { message?: string; code?: string };
    throw new Error(`cannot connect to PostgreSQL at ${client.host}:${client.port}: ${message || code}`, { cause });
  }
}

/** Connects and takes the instance lock of the database's schema, for as long as the connection lives. Throws `DatabaseLockedError`. */
export async function takePostgresLock(connectionString: string): Promise<PostgresLock> {
  const writer = new pg.Client({ ...connectionOptions(connectionString), pipeline: true });
  const lost = new Promise<Error>((resolve) => {
    writer.on('error', (cause) => resolve(new Error('the connection that holds the instance lock was lost', { cause })));
  });
  await connect(writer);
  try {
    // Whatever a caller may write must fit, or his transaction could never be stored.
    const { rows: encodings } = await writer.query<{ server_encoding: string }>('show server_encoding');
    if (encodings[0]?.server_encoding !== 'UTF8') throw new Error('the PostgreSQL database must have the encoding UTF8');
    const lock = 'select pg_try_advisory_lock($1, hashtext(current_schema())) as taken';
    const { rows } = await writer.query<{ taken: boolean }>(lock, [lockNumber]);
    if (rows[0]?.taken !== true) throw new DatabaseLockedError(await holderOf(writer));
    // A server may be set up not to wait for its disk; what this connection commits must be durable.
    await writer.query(`select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'`);
    return { writer, lost };
  } catch (error) {
    await writer.end();
    throw error;
  }
}
