import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCli } from '../support/run-cli.js';
import { temporaryFolder } from '../support/temporary-folder.js';

test('migrate: names the applied migrations, and reports nothing to migrate the second time', async () => {
  const env = { DATABASE_URL: `sqlite:${join(await temporaryFolder(), 'relayer.db')}` };
  const first = await runCli(['migrate'], env);
  assert.equal(first.exitCode, 0, first.stderr);
  assert.match(first.stdout, /^applied 0001-initial\n/);
  assert.equal(first.stderr, '');
  assert.deepEqual(await runCli(['migrate'], env), { exitCode: 0, stdout: 'nothing to migrate\n', stderr: '' });
});

test('migrate: exits with 1 if the database is unreachable and with 2 if its URL is invalid', async () => {
  const unreachable = await runCli(['migrate'], { DATABASE_URL: 'postgres://user:hunter2@127.0.0.1:1/relayer' });
  assert.equal(unreachable.exitCode, 1);
  assert.match(unreachable.stderr, /^error: .*ECONNREFUSED/);
  const invalid = await runCli(['migrate'], { DATABASE_URL: 'mysql://user:hunter2@db/relayer' });
  assert.equal(invalid.exitCode, 2);
  assert.match(invalid.stderr, /DATABASE_URL: must be sqlite:<file> or postgres:/);
  for (const { stdout, stderr } of [unreachable, invalid]) assert.ok(!`${stdout}${stderr}`.includes('hunter2'));
});
