import pg from 'pg';
import { StoreAwayError } from '../../core/ports/store/change.js';
import { inTime } from '../../core/work/abort.js';
import { later } from '../../core/work/later.js';
import { choose, chosenServer, type ServerOptions, serversOf } from './postgres-servers.js';
import { connect, connectionOptions, endConnection } from './postgres-writer.js';
import { historyOf } from './server-history.js';

/** Databases that speak PostgreSQL's protocol, by what their version says, and what they lack. */
const others: readonly (readonly [RegExp, string])[] = [
  [/CockroachDB/i, 'CockroachDB, which has no advisory locks and no notifications'],
  [/-YB-|Yugabyte/i, 'YugabyteDB, which has no notifications between connections'],
];

/** Throws if a version is not that of PostgreSQL. */
export function requirePostgres(version: string): void {
  const other = others.find(([pattern]) => pattern.test(version))?.[1];
  if (other !== undefined) throw new Error(`DATABASE_URL leads to ${other}; the service needs PostgreSQL`);
}

/** After a server was found that takes writes, the others have this long to show a newer timeline. */
const othersHaveMs = 500;

/** A server that takes writes; the timeline is null if it does not say. */
interface Writable {
  readonly index: number;
  readonly timeline: number | null;
}

/**
 * Chooses the server to which all connections to a URL lead from now on: a host that takes writes. If several do, an earlier primary is
 * among them, which a failover has left behind: the newest timeline counts, and then the present host, and the order. Throws if
 * there is none (`StoreAwayError` if each is a standby or cannot be reached now), or if it is another database than PostgreSQL.
 */
export async function chooseServer(connectionString: string, connectTimeoutMs?: number): Promise<void> {
  const servers = serversOf(connectionString);
  const [alone] = servers;
  if (servers.length === 1 && alone !== undefined) return void (await look(connectionString, alone, connectTimeoutMs));
  const first = servers.indexOf(chosenServer(servers, connectionString));
  const writable: Writable[] = [];
  const refusals = new Map<number, Error>();
  const found = later<void>();
  const looks = servers.map(async (server, index) => {
    try {
      const seen = await look(connectionString, server, connectTimeoutMs);
      if (seen.isStandby) throw new StoreAwayError(`${seen.address} is a standby`);
      writable.push({ index, timeline: seen.timeline });
      found.resolve();
    } catch (error) {
      refusals.set(index, error as Error);
    }
  });
  const all = Promise.all(looks);
  await Promise.race([all, found.promise]);
  await inTime(all, othersHaveMs, undefined);
  const place = (index: number): number => (index - first + servers.length) % servers.length;
  const [best] = writable.toSorted((a, b) => (b.timeline ?? 0) - (a.timeline ?? 0) || place(a.index) - place(b.index));
  if (best !== undefined) {
    choose(connectionString, best.index);
    return;
  }
  const errors = [...refusals].sort(([a], [b]) => place(a) - place(b)).map(([, error]) => error);
  const sentence = `no server of DATABASE_URL takes writes: ${errors.map(({ message }) => message).join('; ')}`;
  throw errors.every((error) => error instanceof StoreAwayError) ? new StoreAwayError(sentence) : new Error(sentence);
}

/** Connects to a server, and looks at what it is. Throws if it is another database than PostgreSQL. */
async function look(connectionString: string, server: ServerOptions, connectTimeoutMs: number | undefined) {
  const options = connectionOptions(connectionString, server);
  const client = new pg.Client({ ...options, connectionTimeoutMillis: connectTimeoutMs ?? options.connectionTimeoutMillis });
  client.on('error', () => undefined);
  try {
    await connect(client);
    const { rows } = await client.query<{ version: string }>('select version() as version');
    requirePostgres(rows[0]?.version ?? '');
    const { rows: states } = await client.query<{ standby: boolean }>('select pg_is_in_recovery() as standby');
    const isStandby = states[0]?.standby === true;
    const { timeline } = isStandby ? { timeline: null } : await historyOf(client);
    return { isStandby, timeline, address: `${client.host}:${client.port}` };
  } finally {
    await endConnection(client).catch(() => undefined);
  }
}
