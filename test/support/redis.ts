import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createClient } from '@redis/client';
import { freePort } from '../../src/sandbox/free-port.js';
import { temporaryFolder } from './temporary-folder.js';
import { waitFor } from './wait-for.js';

const program = process.env.REDIS_SERVER ?? 'redis-server';

/** The reason for which tests on Redis are skipped, or false. */
export const skipWithoutRedis: string | false =
  spawnSync(program, ['--version']).status === 0
    ? false
    : 'skipped: redis-server is neither on the PATH nor named by REDIS_SERVER (apt-get install redis-server)';

/** A real Redis on a loopback port. */
export interface TestRedis {
  /** With its password. */
  readonly url: string;
  readonly password: string;
  readonly client: Awaited<ReturnType<typeof connected>>;
}

function connected(url: string) {
  const client = createClient({ url });
  client.on('error', () => undefined);
  return client.connect();
}

/** Starts Redis with a password and without files. It stops with the test. */
export async function startRedis(test: { after(release: () => unknown): void }): Promise<TestRedis> {
  const port = await freePort();
  const password = randomBytes(16).toString('hex');
  const settings = { port, bind: '127.0.0.1', dir: await temporaryFolder(), save: '', appendonly: 'no', requirepass: password };
  const child = spawn(
    program,
    Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]),
    {
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  test.after(() => child.kill('SIGKILL'));
  await waitFor('Redis to accept connections', async () => {
    if (child.exitCode !== null) throw new Error(`Redis ended: ${output}`);
    return output.includes('Ready to accept connections') || undefined;
  });
  const url = `redis://:${password}@127.0.0.1:${port}/0`;
  const client = await connected(url);
  test.after(() => client.destroy());
  return { url, password, client };
}
