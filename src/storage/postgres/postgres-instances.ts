import { hostname } from 'node:os';
import pg from 'pg';
import type { RunningInstance } from '../../core/ports/instances.js';
import type { Member, Rewind } from '../../core/ports/shared-database.js';
import type { InstanceTable } from '../sql/schema.js';
import { instanceLock, isInstanceLock, schemaOf, started } from './postgres-lock.js';
import { connect, connectionOptions, endConnection } from './postgres-writer.js';

/** PostgreSQL cuts longer names. */
const maxNameBytes = 63;

/** Returns the name of this process's connection, for `pg_stat_activity`. */
export function connectionNameOf(version: string): string {
  return `relayer ${version} ${process.pid}@${hostname()}`.slice(0, maxNameBytes);
}

/** An instance that shares the database, and its connection as the server sees it. */
export type MemberRow = Pick<
  InstanceTable,
  | 'number'
  | 'host'
  | 'pid'
  | 'since_ms'
  | 'version'
  | 'config_hashes'
  | 'backend_pid'
  | 'backend_started'
  | 'state'
  | 'timeline'
  | 'is_synchronous'
> &
  Pick<Member, 'isConnected' | 'beat' | 'isBusy'> & { readonly seenAt: Date | null };

/** Reads the instances of a schema, in the order of their numbers. The server removes the lock with the connection. */
export async function readMembers(client: pg.Client, schema: string): Promise<readonly Member[]> {
  const { rows } = await client.query<MemberRow>(
    `with held as (select pid from pg_locks where ${isInstanceLock}),
     connections as (
       select pid, ${started} as started, state_change, coalesce(state = 'active' and coalesce(wait_event_type, '') <> 'Client', false) as busy
       from pg_stat_activity where pid in (select pid from held)
     )
     select number, host, instances.pid, since_ms, version, config_hashes, backend_pid, backend_started, state, timeline, is_synchronous,
       connections.pid is not null as "isConnected", state_change::text as beat, state_change as "seenAt", coalesce(busy, false) as "isBusy"
     from instances left join connections on connections.pid = backend_pid and connections.started = backend_started
     where number > 1 order by number`,
    [instanceLock, schema],
  );
  return rows.map(memberFromRow);
}

/** Reads whether the database was found to lack commits. */
export async function readRewind(client: pg.Client): Promise<Rewind | null> {
  const { rows } = await client.query<Rewind>(
    `select rewound_at_ms as "foundAtMs", rewind_evidence as evidence from database_ids where number = 1 and rewound_at_ms is not null`,
  );
  return rows[0] ?? null;
}

/** Lists the instances that share a database, in the order in which they joined. Changes nothing. */
export async function listPostgresInstances(connectionString: string): Promise<readonly RunningInstance[]> {
  const client = new pg.Client(connectionOptions(connectionString));
  // A query that fails reports a broken connection. Without a listener, its error would end the process.
  client.on('error', () => undefined);
  try {
    await connect(client);
    const schema = await schemaOf(client);
    const { rows: tables } = await client.query(`select to_regclass('instances') as found`);
    // A new database has no tables.
    if (tables[0]?.found === null) return [];
    const members = await readMembers(client, schema);
    const { rows } = await client.query<{ holder: number; lanes: number }>(
      `select holder, count(*)::int as lanes from leases where kind = 'lane' and holder is not null group by holder`,
    );
    const lanes = new Map(rows.map((row) => [row.holder, row.lanes]));
    return members.map(({ number, shown }) => ({ ...shown, lanes: lanes.get(number) ?? 0 })).sort((a, b) => a.sinceMs - b.sinceMs);
  } finally {
    await endConnection(client);
  }
}

/** Reads an instance. */
export function memberFromRow(row: MemberRow): Member {
  const { number, host, pid, backend_pid, backend_started, isConnected, beat, isBusy } = row;
  return {
    number,
    shown: {
      id: String(number),
      version: row.version ?? '',
      host,
      pid,
      state: row.state ?? 'starting',
      sinceMs: row.since_ms,
      seenAtMs: row.seenAt?.getTime() ?? null,
    },
    configHashes: new Map(Object.entries<string>(JSON.parse(row.config_hashes ?? '{}'))),
    backend: backend_pid === null || backend_started === null ? null : { pid: backend_pid, started: backend_started },
    isConnected,
    beat,
    isBusy,
    timeline: row.timeline,
    isSynchronous: row.is_synchronous === 1,
  };
}
