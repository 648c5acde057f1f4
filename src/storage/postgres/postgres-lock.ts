import pg from 'pg';
import type { Backend } from '../../core/ports/shared-database.js';
import { repeat } from '../../core/work/repeat.js';
import { DatabaseLockedError } from '../database/database-locked-error.js';
import { postgres } from '../sql/dialect.js';
import { type Instance, instanceStatements } from '../statements/instances.js';
import { chooseServer } from './choose-server.js';
import { serversOf } from './postgres-servers.js';
import { type ConnectOptions, connectPostgresWriter, endConnection, type PostgresWriter } from './postgres-writer.js';
import { historyOf, type ServerHistory } from './server-history.js';

/**
 * The number of the instance lock, which separates it from the locks of other programs in the same database. Instances that share the
 * database hold it shared; a command that needs the database alone holds it exclusively.
 */
export const instanceLock = 1_919_249_012;

/** How often an instance sends something, so that the others see that it works. */
const beatEveryMs = 1_000;

/** The table does not exist. */
const undefinedTable = '42P01';

/** Returns the process that uses the database alone, or else one that shares it; undefined: no process does, or the database is new. */
async function readInstance(client: pg.Client): Promise<Instance | undefined> {
  const { sql, bind } = instanceStatements(postgres).anyUser;
  try {
    const { rows } = await client.query<Instance>(sql, bind({}));
    return rows[0];
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === undefinedTable) return undefined;
    throw error;
  }
}

/** Returns the schema in which new tables are created. */
export async function schemaOf(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ schema: string | null; path: string }>(
    `select current_schema() as schema, current_setting('search_path') as path`,
  );
  const { schema = null, path = '' } = rows[0] ?? {};
  if (schema === null)
    throw new Error(
      `the search_path of the PostgreSQL user (${path}) names no schema that exists; create the schema, or set another search_path`,
    );
  return schema;
}

/** A connection that writes and holds the instance lock. */
export interface LockedWriter extends PostgresWriter {
  readonly schema: string;
  readonly backend: Backend;
  readonly history: ServerHistory;
}

/** When the server's process for a connection started, from `pg_stat_activity`. */
export const started = 'extract(epoch from backend_start)::text';

async function backendOf(client: pg.Client): Promise<Backend> {
  const { rows } = await client.query<Backend>(`select pid, ${started} as started from pg_stat_activity where pid = pg_backend_pid()`);
  const [backend] = rows;
  if (backend === undefined) throw new Error('pg_stat_activity does not show this connection');
  return backend;
}

/** A lock of `pg_locks` that is the instance lock of a schema of this database: `$1` is the number of the lock, `$2` the schema. */
export const isInstanceLock = `locktype = 'advisory' and classid = $1 and objid = hashtext($2)::oid and objsubid = 2 and granted
  and database = (select oid from pg_database where datname = current_database())`;

/**
 * Ends a connection on the server if it holds the instance lock of a schema. Without that lock, it may serve another client by now: a
 * pooler gives the connections of the server away again. One whose commit waits for a standby goes on to wait: ended, the server would
 * show that commit to all, and a promotion would lose what others have done because of it. Throws if the user may not do that.
 */
export async function endHolder(client: pg.Client, schema: string, { pid, started: since }: Backend): Promise<void> {
  const isHolder = `exists (select from pg_locks where pg_locks.pid = pg_stat_activity.pid and ${isInstanceLock})`;
  const end = `select pg_terminate_backend(pid) from pg_stat_activity where pid = $3 and ${started} = $4 and ${isHolder}
    and coalesce(wait_event, '') <> 'SyncRep'`;
  await client.query(end, [instanceLock, schema, pid, since]);
}

/** Sends something regularly until the connection ends, so that the other instances see that this one works. */
function beat(writer: pg.Client): void {
  // If it fails, the connection is lost, which its owner notices.
  const beating = repeat(async () => void (await writer.query('select 1')), beatEveryMs, { onError: () => undefined, runsAtOnce: false });
  writer.once('end', () => void beating.stop());
}

/** Names a connection for `pg_stat_activity`. */
export async function nameConnection(client: pg.Client, name: string): Promise<void> {
  await client.query(`select set_config('application_name', $1, false)`, [name]);
}

/** How to take the lock. */
export interface LockOptions extends ConnectOptions {
  /** True: together with other instances. False: alone. */
  readonly isShared: boolean;
  /** The earlier connection of this process, which may still hold the lock: the server may not know yet that it is lost. */
  readonly replaces?: Backend;
  /** The name of the connection. */
  readonly name?: string | undefined;
}

/**
 * Connects and takes the instance lock of the database's schema until the connection ends. Throws `DatabaseLockedError`.
 *
 * The connection that writes also holds the lock, so every commit happens under the lock. With two connections, the one with the lock could
 * die and another process could take the lock while the other connection still writes.
 */
export async function takePostgresLock(connectionString: string, options: LockOptions): Promise<LockedWriter> {
  if (serversOf(connectionString).length > 1) await chooseServer(connectionString, options.connectTimeoutMs);
  const connected = await connectPostgresWriter(connectionString, options);
  const { writer, lost } = connected;
  try {
    const schema = await schemaOf(writer);
    if (options.replaces !== undefined) await endHolder(writer, schema, options.replaces);
    const lock = `select pg_try_advisory_lock${options.isShared ? '_shared' : ''}($1, hashtext($2)) as taken`;
    const { rows } = await writer.query<{ taken: boolean }>(lock, [instanceLock, schema]);
    if (rows[0]?.taken !== true) throw new DatabaseLockedError(await readInstance(writer).catch(() => undefined));
    if (options.name !== undefined) await nameConnection(writer, options.name);
    const backend = await backendOf(writer);
    const history = await historyOf(writer);
    beat(writer);
    return { writer, lost, schema, backend, history };
  } catch (error) {
    await endConnection(writer);
    throw error;
  }
}
