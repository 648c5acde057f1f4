import pg from 'pg';

/** A connection that does not answer for this long counts as dead. */
const answerTimeoutMs = 30_000;
const connectTimeoutMs = 10_000;

/** A connection that writes. */
export interface PostgresWriter {
  readonly writer: pg.Client;
  /** Resolves with the reason when the connection is lost. */
  readonly lost: Promise<Error>;
}

/** The options of every connection to PostgreSQL. */
export function connectionOptions(connectionString: string) {
  return {
    connectionString,
    application_name: 'relayer',
    keepAlive: true,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: answerTimeoutMs,
    types: {
      // 64-bit columns hold milliseconds, revisions and counts, all below 2^53; pg returns them as text by default.
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format as 'text'),
    } as pg.CustomTypesConfig,
  };
}

/** Opens a connection whose commits are durable under all settings of the server. Throws an error whose message is for the operator. */
export async function connectPostgresWriter(connectionString: string): Promise<PostgresWriter> {
  const writer = new pg.Client({ ...connectionOptions(connectionString), pipeline: true });
  const lost = new Promise<Error>((resolve) => {
    writer.on('error', resolve);
  });
  await connect(writer);
  try {
    // In another encoding, some text of a caller could never be stored.
    const { rows } = await writer.query<{ server_encoding: string }>('show server_encoding');
    const encoding = rows[0]?.server_encoding;
    if (encoding !== 'UTF8') throw new Error(`the PostgreSQL database has encoding ${encoding}; create one with encoding UTF8`);
    // The server's configuration may let commits return before they are on disk.
    await writer.query(`select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'`);
    return { writer, lost };
  } catch (error) {
    await writer.end();
    throw error;
  }
}

async function connect(client: pg.Client): Promise<void> {
  try {
    await client.connect();
  } catch (cause) {
    // For a host with several addresses, Node's error has a code but no message.
    const { message, code } = cause as { message?: string; code?: string };
    throw new Error(`cannot connect to PostgreSQL at ${client.host}:${client.port}: ${message || code}`, { cause });
  }
}
