import pg from 'pg';
import { StoreAwayError } from '../../core/ports/store/change.js';
import { choose, chosenServer, serversOf } from './postgres-servers.js';
import { connect, connectionOptions, endConnection } from './postgres-writer.js';

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

/**
 * Chooses the server to which all connections to a URL lead from now on: the first of its hosts, beginning with the present one, that takes
 * writes. Throws if there is none (`StoreAwayError` if each is a standby or cannot be reached now), or if it is another database than
 * PostgreSQL.
 */
export async function chooseServer(connectionString: string, connectTimeoutMs?: number): Promise<void> {
  const servers = serversOf(connectionString);
  const first = servers.indexOf(chosenServer(servers, connectionString));
  const refusals: string[] = [];
  let canPass = true;
  for (const server of [...servers.slice(first), ...servers.slice(0, first)]) {
    const options = connectionOptions(connectionString, server);
    const client = new pg.Client({ ...options, connectionTimeoutMillis: connectTimeoutMs ?? options.connectionTimeoutMillis });
    client.on('error', () => undefined);
    try {
      await connect(client);
      const { rows } = await client.query<{ version: string; standby: boolean }>('select version() as version');
      requirePostgres(rows[0]?.version ?? '');
      if (servers.length === 1) return;
      const { rows: states } = await client.query<{ standby: boolean }>('select pg_is_in_recovery() as standby');
      if (states[0]?.standby === false) {
        choose(connectionString, servers.indexOf(server));
        return;
      }
      refusals.push(`${client.host}:${client.port} is a standby`);
    } catch (error) {
      if (servers.length === 1) throw error;
      refusals.push((error as Error).message);
      canPass &&= error instanceof StoreAwayError;
    } finally {
      await endConnection(client).catch(() => undefined);
    }
  }
  const sentence = `no server of DATABASE_URL takes writes: ${refusals.join('; ')}`;
  throw canPass ? new StoreAwayError(sentence) : new Error(sentence);
}
