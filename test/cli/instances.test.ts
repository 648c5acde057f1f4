import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { it } from 'node:test';
import { openInstance } from '../../src/app/open-instance.js';
import { noFiles } from '../support/no-files.js';
import { startPostgres } from '../support/postgres.js';
import { runCli } from '../support/run-cli.js';
import { silentLog } from '../support/stored-samples.js';
import { waitFor } from '../support/wait-for.js';

it('relayer instances: says that a SQLite database has one instance at a time', async () => {
  const { exitCode, stdout, stderr } = await runCli(['instances'], { DATABASE_URL: 'sqlite:/nowhere/relayer.db' });
  assert.deepEqual({ exitCode, stdout }, { exitCode: 2, stdout: '' });
  assert.match(stderr, /DATABASE_URL names a SQLite database, which only one instance can use/);
});

it('relayer instances: reports a server that cannot be reached', async () => {
  const { exitCode, stderr } = await runCli(['instances'], { DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none' });
  assert.equal(exitCode, 1);
  assert.match(stderr, /cannot connect to PostgreSQL at 127\.0\.0\.1:9/);
});

it('relayer instances: lists every instance on a line, oldest first, and lists none if none uses the database', async (test) => {
  const postgres = await startPostgres();
  test.after(() => postgres.stop());
  const DATABASE_URL = await postgres.newDatabase();
  const open = async (version: string) => {
    const opened = await openInstance(DATABASE_URL, { log: silentLog, instance: { version, files: noFiles } });
    await opened.leases.add('lane', new Map([['evm:1/0x1', { begin: async () => undefined, end: async () => undefined }]]));
    return opened;
  };
  const [first, second] = [await open('1.0.0'), await open('1.1.0')];
  const beginMs = Date.now();
  await first.leases.start();
  const { exitCode, stdout, stderr } = await runCli(['instances'], { DATABASE_URL });
  assert.equal(exitCode, 0, stderr);
  const lines = stdout.split('\n').map((line) => line.split('\t'));
  assert.deepEqual(
    lines.map((fields) => fields.slice(0, 6)),
    [
      [first.sharing.ownId(), 'sharing', '1', '1.0.0', hostname(), String(process.pid)],
      [second.sharing.ownId(), 'starting', '0', '1.1.0', hostname(), String(process.pid)],
      [''],
    ],
  );
  for (const [since, seen] of lines.slice(0, 2).map((fields) => fields.slice(6))) {
    assert.ok(Date.parse(since ?? '') <= beginMs, since);
    assert.match(seen ?? '', /^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/);
  }
  await second.leases.start();
  await first.sharing.drain(second.sharing.ownId(), false);
  await waitFor('it to give up its share', async () => (second.leases.held().get('lane') === 0 ? true : undefined));
  const undrained = await runCli(['instances', 'undrain', second.sharing.ownId()], { DATABASE_URL });
  assert.deepEqual(undrained, { exitCode: 0, stdout: `${second.sharing.ownId()}\tstarting\n`, stderr: '' });
  const stateAtFirst = () => first.sharing.instances().find(({ id }) => id === second.sharing.ownId())?.state;
  await waitFor('it to share again', async () => (stateAtFirst() === 'sharing' ? true : undefined));
  const unknown = await runCli(['instances', 'undrain', '1'], { DATABASE_URL });
  assert.deepEqual([unknown.exitCode, unknown.stdout], [1, '']);
  assert.match(unknown.stderr, /no instance has the id "1"/);
  for (const { leases, store } of [second, first]) {
    await leases.stop();
    await store.close();
  }
  assert.deepEqual(await runCli(['instances'], { DATABASE_URL }), { exitCode: 0, stdout: '', stderr: '' });
});
