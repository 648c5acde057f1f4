import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCli } from '../support/run-cli.js';
import { temporaryFolder } from '../support/temporary-folder.js';

test('migrate names what it applied, and the second time finds nothing to do', async () => {
  const env = { DATABASE_URL: `sqlite:${join(await temporaryFolder(), 'relayer.db')}` };
  const first = await runCli(['migrate'], env);
  assert.equal(first.exitCode, 0, first.stderr);
  assert.match(first.stdout, /^applied 0001-initial\n/);
  assert.equal(first.stderr, '');
  assert.deepEqual(await runCli(['migrate'], env), { exitCode: 0, stdout: 'nothing to do\n', stderr: '' });
});

test('a database that cannot be reached is exit code 1, one that cannot be meant is 2', async () => {
  const unreachable = await runCli(['migrate'], { DATABASE_URL: 'postgres://user:hunter2@127.0.0.1:1/relayer' });
  assert.equal(unreachable.exitCode, 1);
  assert.match(unreachable.stderr, /^error: .*ECONNREFUSED/);
  const unmeant = await runCli(['migrate'], { DATABASE_URL: 'mysql://user:hunter2@db/relayer' });
  assert.equal(unmeant.exitCode, 2);
  assert.match(unmeant.stderr, /DATABASE_URL: must be sqlite:<file> or postgres:/);
  for (const { stdout, stderr } of [unreachable, unmeant]) assert.ok(!`${stdout}${stderr}`.includes('hunter2'));
});
