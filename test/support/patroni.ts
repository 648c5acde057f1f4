import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../src/sandbox/free-port.js';
import { runSql } from './postgres-pair.js';
import { waitFor } from './wait-for.js';

const postgresPrograms = '/usr/lib/postgresql/15/bin';

/** The reason for which suites on Patroni are skipped, or false. */
export const skipWithoutPatroni: string | false = isInstalled()
  ? false
  : 'skipped: it needs root, Linux, and the packages patroni, etcd-server, haproxy and postgresql-15 (apt-get install)';

function isInstalled(): boolean {
  const found = (program: string) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
  return process.getuid?.() === 0 && existsSync(postgresPrograms) && ['patroni', 'etcd', 'haproxy'].every(found);
}

/** A member of the cluster. */
interface Node {
  readonly port: number;
  readonly restPort: number;
  readonly dir: string;
  readonly patroni: ChildProcess;
}

/** Two PostgreSQL servers under Patroni, behind HAProxy, which leads to the primary. */
export interface PatroniCluster {
  /** The database's URL through HAProxy, for a superuser. */
  readonly url: string;
  /** The same for the service, whose password is in a file. */
  readonly serviceUrl: string;
  /** Stops the stream of commits to the standby, which has all of them until now. */
  stopReplication(): Promise<void>;
  /** Ends the primary and its Patroni as a power cut does, and resolves when HAProxy leads to the new primary. */
  failOver(): Promise<void>;
  /** Ends the primary's Patroni alone, and resolves when HAProxy leads to the new primary. The earlier one still takes writes. */
  abandonPrimary(): Promise<void>;
  /** Replaces the password of the service, on the server and then in its file, and ends its connections. */
  rotatePassword(): Promise<void>;
  /** Fills the disk of the primary until it refuses or ends, and frees it. Resolves when HAProxy leads to a server that takes writes. */
  fillDisk(): Promise<void>;
  /** Lets Patroni make the standby the primary, and resolves when it is. */
  switchOver(): Promise<void>;
  /** Lets a new database get all rows by logical replication, which copies no sequences. Resolves to its URL for the service. */
  upgradeByReplication(): Promise<string>;
  /** Dumps the database, and rewrites its tables with an exclusive lock on each. */
  maintain(): Promise<void>;
  stop(): Promise<void>;
}

const limitMs = 120_000;
/** The database user of the service. */
const user = 'relayer';

/** The process and all that it has started. */
function treeOf(pid: number): number[] {
  const children = spawnSync('pgrep', ['-P', String(pid)], { encoding: 'utf8' })
    .stdout.split('\n')
    .filter(Boolean)
    .map(Number);
  return [pid, ...children.flatMap(treeOf)];
}

function kill(pids: Iterable<number>, signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has ended.
    }
  }
}

/** How long the disk stays full, so that callers and the service meet it. */
const fullForMs = 5_000;
/** How long the service has a password that the server refuses. */
const withoutPasswordMs = 1_000;
/** The disk of a primary that can be filled. */
const diskBytes = 400 * 1024 * 1024;

/**
 * Starts the cluster in a folder of its own. `isSynchronous`: a commit waits for the standby. `hasSmallDisk`: the first server has a small
 * disk of its own. `env`: variables of the servers.
 */
export async function startPatroni(
  isSynchronous: boolean,
  { hasSmallDisk = false, env: serverEnv = {} }: { hasSmallDisk?: boolean; env?: Readonly<Record<string, string>> } = {},
): Promise<PatroniCluster> {
  const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, 'postgres']))) as [number, number];
  const root = await mkdtemp(join(tmpdir(), 'relayer-patroni-'));
  await chown(root, uid, gid);
  await chmod(root, 0o755);
  const env = { PATH: `${process.env.PATH}:${postgresPrograms}`, LC_ALL: 'C.UTF-8', HOME: root };
  const started: ChildProcess[] = [];
  const run = (program: string, args: readonly string[], asPostgres = false): ChildProcess => {
    const log = openSync(join(root, `${program}.log`), 'a');
    const child = spawn(program, args, {
      cwd: root,
      env: asPostgres ? { ...env, ...serverEnv } : env,
      stdio: ['ignore', log, log],
      ...(asPostgres ? { uid, gid } : {}),
    });
    started.push(child);
    return child;
  };
  const isOk = (url: string) =>
    fetch(url, { signal: AbortSignal.timeout(1_500) }).then(
      ({ ok }) => ok || undefined,
      () => undefined,
    );

  const [etcdPort, peerPort, proxyPort] = [await freePort(), await freePort(), await freePort()];
  const etcd = `http://127.0.0.1:${etcdPort}`;
  const peer = `http://127.0.0.1:${peerPort}`;
  const etcdDir = join(root, 'etcd');
  await mkdir(etcdDir, { mode: 0o700 });
  const urls = ['listen-client-urls', 'advertise-client-urls'].flatMap((name) => [`--${name}`, etcd]);
  const peers = ['listen-peer-urls', 'initial-advertise-peer-urls'].flatMap((name) => [`--${name}`, peer]);
  run('etcd', ['--data-dir', etcdDir, ...urls, ...peers, '--initial-cluster', `default=${peer}`]);
  await waitFor('etcd to answer', () => isOk(`${etcd}/health`), limitMs);

  async function startNode(name: string): Promise<Node> {
    const [port, restPort, dir] = [await freePort(), await freePort(), join(root, name)];
    const hba = [
      'local all all trust',
      `host relayer ${user} 127.0.0.1/32 scram-sha-256`,
      'host all all 127.0.0.1/32 trust',
      'host replication all 127.0.0.1/32 trust',
    ];
    const settings = {
      scope: 'relayer',
      name,
      restapi: { listen: `127.0.0.1:${restPort}`, connect_address: `127.0.0.1:${restPort}` },
      etcd3: { host: `127.0.0.1:${etcdPort}` },
      bootstrap: {
        dcs: {
          ttl: 20,
          loop_wait: 2,
          retry_timeout: 3,
          // A primary that cannot start again hands over at once.
          primary_start_timeout: 0,
          synchronous_mode: isSynchronous,
          postgresql: {
            use_pg_rewind: true,
            parameters: { max_connections: 100, shared_buffers: '48MB', wal_log_hints: 'on', wal_level: 'logical' },
          },
        },
        initdb: [{ encoding: 'UTF8' }, { locale: 'C' }],
      },
      postgresql: {
        pg_hba: hba,
        listen: `127.0.0.1:${port}`,
        connect_address: `127.0.0.1:${port}`,
        data_dir: dir,
        bin_dir: postgresPrograms,
        pgpass: join(root, `${name}.pgpass`),
        authentication: {
          superuser: { username: 'postgres', password: 'postgres' },
          replication: { username: 'replicator', password: 'replicator' },
          rewind: { username: 'rewinder', password: 'rewinder' },
        },
        parameters: { unix_socket_directories: root },
      },
    };
    // JSON is YAML.
    const file = join(root, `${name}.yml`);
    await writeFile(file, JSON.stringify(settings));
    const patroni = run('patroni', [file], true);
    return { port, restPort, dir, patroni };
  }

  const stop = async () => {
    for (const child of started) if (child.pid !== undefined) kill(treeOf(child.pid), 'SIGKILL');
    // PostgreSQL is no child of Patroni once it runs.
    for (const { dir } of nodes) kill(await serverOf(dir), 'SIGKILL');
    if (hasSmallDisk) spawnSync('umount', ['--lazy', join(root, 'first')]);
    await rm(root, { recursive: true, force: true });
  };
  const serverOf = async (dir: string): Promise<number[]> => {
    const pid = Number((await readFile(join(dir, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')[0]);
    return pid > 0 ? treeOf(pid) : [];
  };
  const nodes: Node[] = [];
  try {
    if (hasSmallDisk) {
      const disk = join(root, 'first');
      await mkdir(disk);
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskBytes},uid=${uid},gid=${gid},mode=700`, 'tmpfs', disk]);
    }
    const first = await startNode('first');
    nodes.push(first);
    await waitFor('the first server to be the primary', () => isOk(`http://127.0.0.1:${first.restPort}/primary`), limitMs);
    const second = await startNode('second');
    nodes.push(second);
    const path = isSynchronous ? 'synchronous' : 'replica';
    await waitFor('the second server to follow it', () => isOk(`http://127.0.0.1:${second.restPort}/${path}`), limitMs);
    const servers = nodes.map(({ port, restPort }, index) => `  server node${index} 127.0.0.1:${port} check port ${restPort}\n`);
    const proxyFile = join(root, 'haproxy.cfg');
    await writeFile(
      proxyFile,
      `defaults\n  mode tcp\n  timeout connect 2s\n  timeout client 30m\n  timeout server 30m\n  timeout check 3s\nlisten postgres\n  bind 127.0.0.1:${proxyPort}\n` +
        `  option httpchk OPTIONS /primary\n  http-check expect status 200\n  default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions\n${servers.join('')}`,
    );
    run('haproxy', ['-f', proxyFile, '-db']);
    const maintenance = `postgres://postgres@127.0.0.1:${proxyPort}/postgres`;
    await waitFor('HAProxy to lead to the primary', () => runSql(maintenance, 'select 1').catch(() => undefined), limitMs);
    const atFirst = `postgres://postgres@127.0.0.1:${first.port}/postgres`;
    const passwordFile = join(root, 'service.pgpass');
    const usePassword = (password: string) => writeFile(passwordFile, `127.0.0.1:*:*:${user}:${password}\n`, { mode: 0o600 });
    await usePassword('first');
    await runSql(atFirst, `create role ${user} login password 'first'`);
    await runSql(atFirst, `create database relayer owner ${user}`);
    const atPrimary = `postgres://postgres@127.0.0.1:${first.port}/relayer`;
    const isSecondPrimary = () =>
      waitFor('the second server to be the primary', () => isOk(`http://127.0.0.1:${second.restPort}/primary`), limitMs);
    const url = `postgres://postgres@127.0.0.1:${proxyPort}/relayer`;
    const runTool = async (program: string, args: readonly string[]): Promise<void> => {
      const [code] = await once(run(program, args), 'exit');
      if (code !== 0) throw new Error(`${program} ended with ${code}: ${await readFile(join(root, `${program}.log`), 'utf8')}`);
    };
    const takesWrites = async () =>
      (await runSql<{ recovers: boolean }>(url, 'select pg_is_in_recovery() as recovers').catch(() => []))[0]?.recovers === false ||
      undefined;
    return {
      url,
      serviceUrl: `postgres://${user}@127.0.0.1:${proxyPort}/relayer?passfile=${passwordFile}`,
      async stopReplication() {
        const behind = `select pid, replay_lsn = pg_current_wal_lsn() as has_all from pg_stat_replication`;
        const sender = await waitFor('the standby to have all commits', async () => {
          const [row] = await runSql<{ pid: number; has_all: boolean }>(atPrimary, behind);
          return row?.has_all === true ? row.pid : undefined;
        });
        process.kill(sender, 'SIGSTOP');
      },
      async failOver() {
        if (first.patroni.pid === undefined) throw new Error('Patroni did not start');
        kill([...treeOf(first.patroni.pid), ...(await serverOf(first.dir))], 'SIGKILL');
        await isSecondPrimary();
      },
      async abandonPrimary() {
        if (first.patroni.pid === undefined) throw new Error('Patroni did not start');
        kill([first.patroni.pid], 'SIGKILL');
        await isSecondPrimary();
        const [state] = await runSql<{ recovers: boolean }>(atFirst, 'select pg_is_in_recovery() as recovers');
        if (state?.recovers !== false) throw new Error('the earlier primary is none any more');
      },
      async rotatePassword() {
        await runSql(url, `alter role ${user} password 'second'`);
        // Until the file has it too, no connection can be made.
        await runSql(url, `select pg_terminate_backend(pid) from pg_stat_activity where usename = '${user}'`);
        const earlier = `postgres://${user}:first@127.0.0.1:${proxyPort}/relayer`;
        await waitFor(
          'the earlier password to be refused',
          () =>
            runSql(earlier, 'select 1').then(
              () => undefined,
              () => true,
            ),
          limitMs,
        );
        await delay(withoutPasswordMs);
        await usePassword('second');
      },
      async fillDisk() {
        const filler = join(first.dir, 'filler');
        spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=64k']);
        const logNext = () =>
          runSql(
            atFirst,
            'create table if not exists filler (content text); insert into filler select repeat(md5(random()::text), 100) from generate_series(1, 20000); select pg_switch_wal()',
          );
        await waitFor(
          'the full disk to matter',
          () =>
            logNext().then(
              () => undefined,
              () => true,
            ),
          limitMs,
        );
        await delay(fullForMs);
        await rm(filler);
        await waitFor('HAProxy to lead to a primary', takesWrites, limitMs);
      },
      async switchOver() {
        const response = await fetch(`http://127.0.0.1:${first.restPort}/switchover`, {
          method: 'POST',
          body: JSON.stringify({ leader: 'first', candidate: 'second' }),
        });
        if (!response.ok) throw new Error(`Patroni refused the switchover: ${await response.text()}`);
        await isSecondPrimary();
      },
      async upgradeByReplication() {
        const upgraded = url.replace(/relayer$/, 'upgraded');
        await runSql(maintenance, `create database upgraded owner ${user}`);
        const schema = join(root, 'schema.sql');
        await runTool('pg_dump', ['--schema-only', '--file', schema, url]);
        await runTool('psql', ['--quiet', '--set', 'ON_ERROR_STOP=1', '--file', schema, upgraded]);
        await runSql(url, 'create publication upgrade for all tables');
        // On one server, a subscription would wait for its own transaction to make the slot.
        await runSql(url, `select pg_create_logical_replication_slot('upgrade', 'pgoutput')`);
        await runSql(
          upgraded,
          `create subscription upgrade connection '${atPrimary}' publication upgrade with (create_slot = false, slot_name = upgrade)`,
        );
        const state = `select count(*) filter (where srsubstate <> 'r')::int as missing, count(*)::int as tables from pg_subscription_rel`;
        await waitFor(
          'all rows to be there',
          async () => {
            const [row] = await runSql<{ missing: number; tables: number }>(upgraded, state);
            return (row !== undefined && row.tables > 0 && row.missing === 0) || undefined;
          },
          limitMs,
        );
        await runSql(upgraded, 'drop subscription upgrade');
        return `postgres://${user}@127.0.0.1:${proxyPort}/upgraded?passfile=${passwordFile}`;
      },
      async maintain() {
        await runTool('pg_dump', ['--file', join(root, 'dump.sql'), url]);
        await runTool('vacuumdb', ['--full', url]);
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
