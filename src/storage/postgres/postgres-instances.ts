import { hostname } from 'node:os';
import pg from 'pg';
import type { RunningInstance } from '../running-instance.js';
import { instanceLock, readInstance, schemaOf, standbyLock } from './postgres-lock.js';
import { connect, connectionOptions, endConnection } from './postgres-writer.js';

/** PostgreSQL cuts longer names. */
const maxNameBytes = 63;

/** Returns the name of the connection with which this process holds the database, or waits for it: others read its version, host and process id there. */
export function connectionNameOf(version: string): string {
  return `relayer ${version} ${process.pid}@${hostname()}`.slice(0, maxNameBytes);
}

interface Row {
  readonly name: string;
  readonly isActive: boolean;
  readonly since: Date;
  readonly seen: Date;
}

/**
 * Lists the instances that are connected to a database's schema, the active one first: the connections that hold the instance lock or the lock of standbys.
 * The server removes the locks with the connection, so no instance is listed that is gone.
 */
export async function listPostgresInstances(connectionString: string): Promise<readonly RunningInstance[]> {
  const client = new pg.Client(connectionOptions(connectionString));
  // A query that fails reports a broken connection. Without a listener, its error would end the process.
  client.on('error', () => undefined);
  try {
    await connect(client);
    const schema = await schemaOf(client);
    const { rows } = await client.query<Row>(
      `select application_name as name, classid = $1 as "isActive", backend_start as since, coalesce(state_change, backend_start) as seen
       from pg_locks join pg_stat_activity activity on activity.pid = pg_locks.pid
       where locktype = 'advisory' and classid in ($1, $2) and objid = hashtext($3)::oid and objsubid = 2 and granted
         and database = (select oid from pg_database where datname = current_database())
       order by 2 desc, 3`,
      [instanceLock, standbyLock, schema],
    );
    // A connection may be younger than its process's ownership.
    const owner = await readInstance(client);
    return rows.map(({ name, isActive, since, seen }) => {
      const [, version = null, pid = null, host = null] = /^relayer (\S+) (\d+)@(.*)$/.exec(name) ?? [];
      const sinceMs = isActive && owner !== undefined && owner.token !== '' ? owner.since_ms : since.getTime();
      return { isActive, version, host, pid: pid === null ? null : Number(pid), sinceMs, seenAtMs: seen.getTime() };
    });
  } finally {
    await endConnection(client);
  }
}
