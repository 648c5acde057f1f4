import pg from 'pg';
import { connectionOptions } from './postgres-connection.js';

/** A connection that writes. */
export interface PostgresWriter {
  readonly writer: pg.Client;
  /** Resolves with the reason when the connection is lost. */
  readonly lost: Promise<Error>;
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

/** Connects; what is committed is durable, whatever the server's settings say. Throws with a sentence for the operator. */
export async function connectPostgresWriter(connectionString: string): Promise<PostgresWriter> {
  const writer = new pg.Client({ ...connectionOptions(connectionString), pipeline: true });
  const lost = new Promise<Error>((resolve) => {
    writer.on('error', resolve);
  });
  await connect(writer);
  try {
    // Whatever a caller may write must fit, or his transaction could never be stored.
    const { rows } = await writer.query<{ server_encoding: string }>('show server_encoding');
    if (rows[0]?.server_encoding !== 'UTF8') throw new Error('the PostgreSQL database must have the encoding UTF8');
    // A server may be set up not to wait for its disk.
    await writer.query(`select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'`);
    return { writer, lost };
  } catch (error) {
    await writer.end();
    throw error;
  }
}
