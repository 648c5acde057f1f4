import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { keyDigest } from '../../src/core/records/api-key.js';
import { openApiKeys } from '../../src/storage/open-api-keys.js';
import { programFile } from '../support/program-file.js';
import { runCli } from '../support/run-cli.js';
import { apiKey as bootstrapKey, createServiceHome, startService } from '../support/service.js';
import { silentLog } from '../support/stored-samples.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

async function newDatabase(): Promise<{ readonly DATABASE_URL: string }> {
  const env = { DATABASE_URL: `sqlite:${join(await temporaryFolder(), 'relayer.db')}` };
  assert.equal((await runCli(['migrate'], env)).exitCode, 0);
  return env;
}

test('api-key: create prints only the key, list never shows it, delete revokes it', async () => {
  const env = await newDatabase();
  const rights = ['--scope', 'sign', 'notifications', '--relayer', 'r1', 'r2', '--expires-at', '2999-01-01T00:00:00+01:00'];
  const args = ['--name', 'shop', ...rights, '--allow-address', '10.0.0.0/8', '::1'];
  const created = await runCli(['api-key', 'create', ...args], env);
  assert.equal(created.exitCode, 0, created.stderr);
  assert.match(created.stdout, /^rk_[0-9a-f]{32}_[A-Za-z0-9_-]{43}\n$/);
  const id = /^created (\S+); the key cannot be shown again\n$/.exec(created.stderr)?.[1] ?? assert.fail(created.stderr);
  assert.deepEqual(await runCli(['api-key', 'list'], env), {
    exitCode: 0,
    stdout: `${id}\tshop\tsign,notifications\tr1,r2\t2998-12-31T23:00:00.000Z\tcommand line\t10.0.0.0/8,::1\tnever\n`,
    stderr: '',
  });
  assert.deepEqual(await runCli(['api-key', 'delete', id], env), { exitCode: 0, stdout: `revoked ${id}\n`, stderr: '' });
  assert.deepEqual(await runCli(['api-key', 'list'], env), { exitCode: 0, stdout: '', stderr: '' });
  assert.deepEqual(await runCli(['api-key', 'delete', id], env), {
    exitCode: 1,
    stdout: '',
    stderr: `error: API key with ID ${id} not found\n`,
  });
});

test('api-key create: keeps no key whose text could not be written', async () => {
  const env = await newDatabase();
  const full = openSync('/dev/full', 'w');
  const args = [programFile, 'api-key', 'create', '--name', 'shop', '--scope', 'sign'];
  const { status, stderr } = spawnSync(process.execPath, args, { env, stdio: ['ignore', full, 'pipe'], encoding: 'utf8' });
  closeSync(full);
  assert.equal(status, 1);
  assert.match(stderr, /^error: no key was created, since standard output cannot be written to: ENOSPC/);
  assert.deepEqual(await runCli(['api-key', 'list'], env), { exitCode: 0, stdout: '', stderr: '' });
});

test('api-key rotate: prints only the new secret; one that could not be written is undone', async () => {
  const env = await newDatabase();
  const created = await runCli(['api-key', 'create', '--name', 'shop', '--scope', 'sign'], env);
  const id = /^created (\S+);/.exec(created.stderr)?.[1] ?? assert.fail(created.stderr);
  const store = await openApiKeys(env.DATABASE_URL, { log: silentLog });
  const stored = async () => (await store.read.apiKeys())[0] ?? assert.fail();
  const rotated = await runCli(['api-key', 'rotate', id, '--overlap-seconds', '60'], env);
  assert.equal(rotated.exitCode, 0, rotated.stderr);
  assert.match(rotated.stdout, /^rk_[0-9a-f]{32}_[A-Za-z0-9_-]{43}\n$/);
  assert.match(rotated.stderr, /^rotated \S+; the former secret ends at 2\S+Z; the key cannot be shown again\n$/);
  const after = await stored();
  assert.deepEqual(
    [after.digest, after.formerSecrets.map(({ digest }) => digest)],
    [keyDigest(rotated.stdout.trim()), [keyDigest(created.stdout.trim())]],
  );
  const full = openSync('/dev/full', 'w');
  const args = [programFile, 'api-key', 'rotate', id, '--overlap-seconds', '0'];
  const { status, stderr } = spawnSync(process.execPath, args, { env, stdio: ['ignore', full, 'pipe'], encoding: 'utf8' });
  closeSync(full);
  assert.equal(status, 1);
  assert.match(stderr, /^error: the key was not rotated, since standard output cannot be written to: ENOSPC/);
  assert.deepEqual(await stored(), after);
  const last = await runCli(['api-key', 'rotate', id, '--overlap-seconds', '0'], env);
  assert.match(last.stderr, /; all former secrets have ended; /);
  for (const [given, exitCode, sentence] of [
    [[id, '--overlap-seconds', '-1'], 2, /^error: --overlap-seconds is "-1"; it must be a whole number from 0 to 604800\n$/],
    [[id, '--overlap-seconds', '604801'], 2, /^error: overlap_seconds must be at most 604800\n$/],
    [['gone'], 1, /^error: API key with ID gone not found\n$/],
  ] as const) {
    const refused = await runCli(['api-key', 'rotate', ...given], env);
    assert.deepEqual([refused.exitCode, refused.stdout], [exitCode, '']);
    assert.match(refused.stderr, sentence);
  }
  await store.close();
});

test('api-key: creates no database in a wrong folder', async () => {
  const file = join(await temporaryFolder(), 'none.db');
  for (const args of [['create', '--name', 'x', '--scope', 'sign'], ['list'], ['rotate', 'x'], ['delete', 'x']]) {
    const { exitCode, stderr } = await runCli(['api-key', ...args], { DATABASE_URL: `sqlite:${file}` });
    assert.deepEqual([exitCode, stderr], [2, `error: the database file ${file} does not exist\n`]);
  }
  assert.ok(!existsSync(file));
});

test('api-key create: reports a wrong option in one sentence with exit code 2', async () => {
  const env = await newDatabase();
  for (const [args, sentence] of [
    [['--name', 'x', '--scope', 'everything'], /^error: unknown scope "everything"; valid scopes: transactions:read, /],
    [
      ['--name', 'x', '--scope', 'sign', '--expires-at', 'tomorrow'],
      /^error: --expires-at is "tomorrow"; it must be an RFC 3339 time such as /,
    ],
    [['--name', 'x', '--scope', 'sign', '--expires-at', '2020-01-01T00:00:00Z'], /^error: expires_at must not be in the past\n$/],
    [['--name', 'x', '--scope', 'sign', 'admin', '--relayer', 'r1'], /^error: scopes must not contain admin if relayer_ids is set/],
    [['--name', 'x', '--scope', 'sign', '--allow-address', '10.0.0.0/33'], /^error: allowed_addresses\[0\] must be an IP address/],
    [['--name', '', '--scope', 'sign'], /^error: name must be 1 to 100 characters/],
    [['--scope', 'sign'], /required option '--name <name>' not specified/],
  ] as const) {
    const { exitCode, stdout, stderr } = await runCli(['api-key', 'create', ...args], env);
    assert.deepEqual([exitCode, stdout], [2, '']);
    assert.match(stderr, sentence);
  }
});

test('api-key: a running service accepts a created key and rejects a revoked one', async (test) => {
  const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9' });
  test.after(() => home.remove());
  const service = await startService(home);
  test.after(() => service.kill());
  const created = await runCli(['api-key', 'create', '--name', 'x', '--scope', 'transactions:read'], home.env);
  assert.equal(created.exitCode, 0, created.stderr);
  const statusOf = async (key: string) =>
    (await fetch(`${service.baseUrl}/api/v1/relayers`, { headers: { authorization: `Bearer ${key}` } })).status;
  const key = created.stdout.trim();
  await waitFor('the service to accept the key', async () => ((await statusOf(key)) === 200 ? true : undefined));
  const id = /^created (\S+);/.exec(created.stderr)?.[1] ?? assert.fail(created.stderr);
  assert.equal((await runCli(['api-key', 'delete', id], home.env)).exitCode, 0);
  await waitFor('the service to reject the key', async () => ((await statusOf(key)) === 401 ? true : undefined));
  assert.equal(await statusOf(bootstrapKey), 200);
  assert.ok(!service.output().includes(key));
});
