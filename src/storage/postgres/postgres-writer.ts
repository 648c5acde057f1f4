import pg from 'pg';
import { StoreAwayError } from '../../core/ports/store/change.js';
import { systemTimers } from '../../core/work/timers.js';
import { DatabaseRefusedError } from '../database/database-refused-error.js';
import { chosenServer, serversOf } from './postgres-servers.js';

/** A connection that does not answer for this long counts as dead. */
const answerTimeoutMs = 10_000;
const connectTimeoutMs = 10_000;
const endTimeoutMs = 1_000;

/**
 * The settings of each connection, which override those of the server: an idle service stays connected; the server notices a process that
 * is gone while a statement runs; and a statement that waits for a locked table fails, before the connection counts as dead.
 */
const sessionSettings = {
  idle_session_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  client_connection_check_interval: '5s',
  lock_timeout: '5s',
  // A statement must see the commit of the writer that it waited for.
  default_transaction_isolation: 'read committed',
} as const;

/**
 * A reader's statement ends before the connection counts as dead. A writer's must not: the timeout would also end the wait of a commit for
 * a synchronous standby, and the server would then report a commit that the standby lacks as a success.
 */
const statementTimeout = { reader: '8s', writer: '0' } as const;

/** Sets those settings that the server's version has. */
export async function prepareSession(client: pg.ClientBase, role: keyof typeof statementTimeout): Promise<void> {
  const settings = { ...sessionSettings, statement_timeout: statementTimeout[role] };
  const names = Object.keys(settings);
  const values = Object.values(settings);
  const set = 'select set_config(name, value, false) from unnest($1::text[], $2::text[]) as wanted(name, value) where exists';
  await client.query(`${set} (select from pg_settings where pg_settings.name = wanted.name)`, [names, values]);
}

/** A connection that writes. */
export interface PostgresWriter {
  readonly writer: pg.Client;
  /** Resolves with the reason when the connection is lost. */
  readonly lost: Promise<Error>;
}

/** How to connect. */
export interface ConnectOptions {
  readonly connectTimeoutMs?: number;
}

/** The options of every connection to PostgreSQL. `server`: one of the URL's; default: the chosen one. */
export function connectionOptions(connectionString: string, server = chosenServer(serversOf(connectionString), connectionString)) {
  return {
    ...server,
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
export async function connectPostgresWriter(
  connectionString: string,
  { connectTimeoutMs: connectionTimeoutMillis = connectTimeoutMs }: ConnectOptions = {},
): Promise<PostgresWriter> {
  const writer = new pg.Client({ ...connectionOptions(connectionString), connectionTimeoutMillis, pipeline: true });
  const lost = new Promise<Error>((resolve) => {
    writer.on('error', resolve);
  });
  await connect(writer);
  try {
    await prepareSession(writer, 'writer');
    // In another encoding, some text of a caller could never be stored.
    const { rows } = await writer.query<{ server_encoding: string }>('show server_encoding');
    const encoding = rows[0]?.server_encoding;
    if (encoding !== 'UTF8') throw new Error(`the PostgreSQL database has encoding ${encoding}; create one with encoding UTF8`);
    // A standby has the data, but only the primary takes writes.
    const { rows: servers } = await writer.query<{ standby: boolean }>('select pg_is_in_recovery() as standby');
    if (servers[0]?.standby === true)
      throw new Error('the PostgreSQL server is a standby, which is read-only; set DATABASE_URL to the primary');
    // The configuration of the server or the role may let commits return before they are on disk, or before a synchronous standby has them.
    await writer.query(
      `select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') not in ('on', 'remote_apply')`,
    );
    return { writer, lost };
  } catch (error) {
    await endConnection(writer);
    throw error;
  }
}

/** The SQLSTATE of a warning. Notices have another one. */
const warning = '01000';

/**
 * Runs a commit on this connection. Throws if the server warns: it does if an operator ends the wait for a synchronous standby, and answers
 * as if the standby had the commit.
 */
export async function withoutWarning<T>(client: pg.Client, commit: () => Promise<T>): Promise<T> {
  const warnings: string[] = [];
  const listen = ({ code, message }: { code?: string | undefined; message?: string | undefined }): void => {
    if (code === warning) warnings.push(message ?? code);
  };
  client.on('notice', listen);
  try {
    const result = await commit();
    if (warnings.length > 0) throw new Error(`the database answered a commit with a warning: ${warnings.join('; ')}`);
    return result;
  } finally {
    client.off('notice', listen);
  }
}

/** Ends a connection, also one whose server does not answer: nothing must wait for that. */
export async function endConnection(client: pg.Client): Promise<void> {
  await client.end().finally(systemTimers.after(endTimeoutMs, () => client.connection.stream.destroy()));
}

/** Refusals that end without a change of the configuration: SQLSTATEs, the codes of sockets and names, and the driver's own time limit. */
const passing =
  /^(08[0-9A-Z]{3}|53300|57P0[1-3]|ECONN(REFUSED|RESET|ABORTED)|E(HOST|NET)(UNREACH|DOWN)|ETIMEDOUT|EPIPE|ENOENT|ENOTFOUND|EAI_AGAIN)$/;
const passingMessages = /^timeout expired$|^Connection terminated/;
/** A wrong user or password, or a database that does not exist. */
const refusals = /^(28[0-9A-Z]{3}|3D000)$/;

/**
 * Connects. Throws `StoreAwayError` if the server cannot be reached now or takes no connections yet, `DatabaseRefusedError` if it refuses
 * the URL's user or database, or another error; the message is for the operator.
 */
export async function connect(client: pg.Client): Promise<void> {
  try {
    await client.connect();
  } catch (cause) {
    // For a host with several addresses, Node's error has a code but no message.
    const { message = '', code = '' } = cause as { message?: string; code?: string };
    const sentence = `cannot connect to PostgreSQL at ${client.host}:${client.port}: ${message || code}`;
    if (passing.test(code) || (code === '' && passingMessages.test(message))) throw new StoreAwayError(sentence, { cause });
    throw refusals.test(code) ? new DatabaseRefusedError(sentence, { cause }) : new Error(sentence, { cause });
  }
}
