import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../src/sandbox/free-port.js';
import { waitFor } from './wait-for.js';

const program = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer'].find((path) => existsSync(path));
/** The user `nobody`: PgBouncer refuses to run as root. */
const nobody = 65_534;

/** The reason for which tests with PgBouncer are skipped, or false. */
export const skipWithoutPgbouncer: string | false =
  program === undefined ? 'skipped: pgbouncer is not installed (apt-get install pgbouncer)' : false;

/** A PgBouncer in front of a database. */
export interface Pgbouncer {
  /** The database's URL through it. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts PgBouncer with these settings in front of the database with this URL. */
export async function startPgbouncer(databaseUrl: string, settings: Readonly<Record<string, string | number>>): Promise<Pgbouncer> {
  if (program === undefined) throw new Error('pgbouncer is not installed');
  const { hostname, port, username, password } = new URL(databaseUrl);
  const dir = await mkdtemp(join(tmpdir(), 'relayer-pgbouncer-'));
  await chmod(dir, 0o755);
  const listenPort = await freePort();
  const file = join(dir, 'pgbouncer.ini');
  await writeFile(
    file,
    `[databases]
* = host=${hostname} port=${port} user=${username} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listenPort}
unix_socket_dir =
auth_type = any
${Object.entries(settings)
  .map(([name, value]) => `${name} = ${value}`)
  .join('\n')}
`,
  );
  await chmod(file, 0o644);
  const asNobody = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};
  const child = spawn(program, [file], { ...asNobody, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const stopWithUs = () => void child.kill('SIGKILL');
  process.once('exit', stopWithUs);
  await waitFor('PgBouncer to listen', () => {
    if (child.exitCode !== null) throw new Error(`PgBouncer ended: ${output}`);
    return isListening(listenPort);
  });
  const url = new URL(databaseUrl);
  url.port = String(listenPort);
  return {
    url: url.href,
    async stop() {
      child.kill('SIGKILL');
      await exited;
      process.removeListener('exit', stopWithUs);
      await rm(dir, { recursive: true, force: true });
    },
  };
}

function isListening(port: number): Promise<true | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(undefined));
  });
}
