import { hostname } from 'node:os';
import pg from 'pg';
import type { InstanceState, RunningInstance } from '../../core/ports/instances.js';
import type { Conditions, Look, Member, Rewind } from '../../core/ports/shared-database.js';
import { differingFiles, filesInForce } from '../../core/records/config-files.js';
import type { Durability } from '../../core/records/durability.js';
import type { InstanceTable } from '../sql/schema.js';
import { chooseServer } from './choose-server.js';
import { instanceLock, isInstanceLock, schemaOf, started } from './postgres-lock.js';
import { connect, connectionOptions, endConnection } from './postgres-writer.js';
import { waitsForEach } from './standbys.js';

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
  | 'config_revision'
  | 'backend_pid'
  | 'backend_started'
  | 'state'
  | 'timeline'
  | 'is_synchronous'
> &
  Pick<Member, 'isConnected' | 'beat' | 'isBusy'> & { readonly seenAt: Date | null };

/**
 * Reads the instances of a schema, in the order of their numbers. The server removes the lock with the connection. Asks for these
 * connections alone: `pg_stat_activity` would describe each connection of the server.
 */
export async function readMembers(client: pg.Client, schema: string): Promise<readonly Member[]> {
  const { rows } = await client.query<MemberRow>(
    `with held as (select pid from pg_locks where ${isInstanceLock})
     select number, host, instances.pid, since_ms, version, config_hashes, config_revision, backend_pid, backend_started,
       instances.state, timeline,
       is_synchronous, connection.pid is not null as "isConnected", state_change::text as beat, state_change as "seenAt",
       coalesce(connection.state = 'active' and coalesce(wait_event_type, '') <> 'Client', false) as "isBusy"
     from instances left join lateral (
       select * from pg_stat_get_activity(backend_pid) as one
       where ${started} = backend_started and exists (select from held where held.pid = one.pid)
     ) as connection on true
     where number > 1 order by number`,
    [instanceLock, schema],
  );
  return membersFrom(rows);
}

/** Reads the time and the settings of the server, and whether the database was found to lack commits. */
export async function readServer(client: pg.Client): Promise<Omit<Look, 'members'>> {
  const { rows } = await client.query<
    Pick<Look, 'timeMs' | 'tables'> & { readonly ageMs: number; readonly transactions: number; readonly names: string } & Durability & {
        [Key in keyof Rewind]: Rewind[Key] | null;
      }
  >(
    // A connection of a standby has no database.
    `with sessions as (select datid, backend_xmin, xact_start from pg_stat_get_activity(null)
       where backend_xmin is not null and pid <> pg_backend_pid()
       and (datid is null or datid = (select oid from pg_database where datname = current_database())))
     select floor(extract(epoch from clock_timestamp()) * 1000)::float8 as "timeMs", ${durability},
     current_setting('synchronous_standby_names') as names,
     to_regclass('transactions')::oid::text as tables,
     (select coalesce(floor(extract(epoch from clock_timestamp() - min(xact_start)) * 1000), 0)::float8
       from sessions where datid is not null) as "ageMs",
     (select coalesce(max(age(xmin)), 0) from (select backend_xmin from sessions union all select xmin from pg_replication_slots
       union all select transaction from pg_prepared_xacts where database = current_database()) as kept (xmin)) as transactions,
     rewound_at_ms as "foundAtMs", rewind_evidence as evidence
     from (select) as once left join database_ids on number = 1 and rewound_at_ms is not null`,
  );
  const [row] = rows;
  if (row === undefined) throw new Error('the database answered a look without a row');
  const { timeMs, tables, ageMs, transactions, names, foundAtMs, evidence, ...settings } = row;
  return {
    timeMs,
    tables,
    oldestSnapshot: { ageMs, transactions },
    durability: settings,
    isSynchronous: waitsForEach(names),
    rewind: foundAtMs === null ? null : { foundAtMs, evidence: evidence ?? '' },
  };
}

/** Reads what an instance checks when it starts. */
export async function readConditions(client: pg.Client): Promise<Conditions> {
  const { rows } = await client.query<{ name: string }>('select name from kysely_migration order by name');
  const { rows: secrets } = await client.query<{ sealed: string }>('select sealed from database_secret where number = 1');
  return {
    migrations: rows.map(({ name }) => name),
    secret: secrets[0]?.sealed ?? null,
  };
}

const durability = `current_setting('fsync') = 'on' as fsync, current_setting('full_page_writes') = 'on' as full_page_writes,
  current_setting('synchronous_standby_names') <> '' as synchronous_standby_names`;

/** The instances that share a database, in the order in which they joined, and the settings of its server. */
export interface PostgresOverview {
  readonly instances: readonly RunningInstance[];
  readonly durability: Durability;
}

/** Reads them; null: the database has no tables. Changes nothing. */
export function readPostgresOverview(connectionString: string): Promise<PostgresOverview | null> {
  return onInstances(connectionString, null, async (client, schema) => {
    const members = await readMembers(client, schema);
    const { rows } = await client.query<{ holder: number; lanes: number }>(
      `select holder, count(*)::int as lanes from leases where kind = 'lane' and holder is not null group by holder`,
    );
    const lanes = new Map(rows.map((row) => [row.holder, row.lanes]));
    const instances = members.map(({ number, shown }) => ({ ...shown, lanes: lanes.get(number) ?? 0 }));
    return { instances: instances.sort((a, b) => a.sinceMs - b.sinceMs), durability: (await readServer(client)).durability };
  });
}

/** Undoes the drain of an instance, which sees that at its next look. Returns its state from now on; null: there is no such instance. */
export function undrainOnPostgres(connectionString: string, id: string): Promise<InstanceState | null> {
  return onInstances(connectionString, null, async (client) => {
    // See `Instances.undrain`: the instance itself begins to share.
    const undrain = `update instances set state = case when state = 'draining' then 'starting' else state end
      where number > 1 and number::text = $1 returning state`;
    return (await client.query<{ state: InstanceState }>(undrain, [id])).rows[0]?.state ?? null;
  });
}

/** Connects for one use; `without`: the result if the database has no tables. */
async function onInstances<T>(connectionString: string, without: T, use: (client: pg.Client, schema: string) => Promise<T>): Promise<T> {
  await chooseServer(connectionString);
  const client = new pg.Client(connectionOptions(connectionString));
  // A query that fails reports a broken connection. Without a listener, its error would end the process.
  client.on('error', () => undefined);
  try {
    await connect(client);
    const schema = await schemaOf(client);
    const { rows: tables } = await client.query(`select to_regclass('instances') as found`);
    // A new database has no tables.
    return tables[0]?.found === null ? without : await use(client, schema);
  } finally {
    await endConnection(client);
  }
}

/** Lists the instances alone. */
export async function listPostgresInstances(connectionString: string): Promise<readonly RunningInstance[]> {
  return (await readPostgresOverview(connectionString))?.instances ?? [];
}

/** Reads all instances. */
export function membersFrom(rows: readonly MemberRow[]): readonly Member[] {
  const members = rows.map(memberFromRow);
  const inForce = filesInForce(members.filter(({ state }) => state === 'sharing').map(({ files }) => files));
  return members.map((member) => {
    if (member.state !== 'sharing' || inForce === undefined || differingFiles(member.files, inForce).length === 0) return member;
    return { ...member, shown: { ...member.shown, state: 'draining' } };
  });
}

function memberFromRow(row: MemberRow): Member {
  const { number, host, pid, backend_pid, backend_started, isConnected, beat, isBusy, state } = row;
  return {
    number,
    shown: {
      id: String(number),
      version: row.version ?? '',
      host,
      pid,
      state: state ?? 'starting',
      sinceMs: row.since_ms,
      seenAtMs: row.seenAt?.getTime() ?? null,
    },
    state: state ?? 'starting',
    files: { hashes: new Map(Object.entries<string>(JSON.parse(row.config_hashes ?? '{}'))), revision: Number(row.config_revision ?? 0) },
    backend: backend_pid === null || backend_started === null ? null : { pid: backend_pid, started: backend_started },
    isConnected,
    beat,
    isBusy,
    timeline: row.timeline,
    isSynchronous: row.is_synchronous === 1,
  };
}
