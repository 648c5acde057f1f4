import assert from 'node:assert/strict';
import { it } from 'node:test';
import { runCli } from '../support/run-cli.js';

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
