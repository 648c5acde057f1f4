import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { askRest } from '../support/app-rig.js';
import { runCli, runProgram } from '../support/run-cli.js';
import { createServiceHome, startService } from '../support/service.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

test('audit verify: the files of a service that was killed, started again, rotated and stopped are whole; a changed line is named', async (test) => {
  const folder = await temporaryFolder();
  const file = join(folder, 'audit.log');
  const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9', env: { AUDIT_LOG_FILE: file } });
  test.after(() => home.remove());
  const run = async (end: (service: Awaited<ReturnType<typeof startService>>) => Promise<unknown>) => {
    const service = await startService(home);
    test.after(() => service.kill());
    for (const message of ['one', 'two']) {
      const { status } = await askRest(service.port, 'POST', '/api/v1/relayers/r1/sign', { body: JSON.stringify({ message }) });
      assert.equal(status, 200);
    }
    await end(service);
    return service.output();
  };
  const rotated = `${file}.1`;
  const logs = [
    await run(async ({ kill }) => {
      await waitFor('both lines', () => (readFileSync(file, 'utf8').match(/"msg":"audit"/g)?.length === 2 ? true : undefined));
      await kill();
    }),
    await run(async ({ stop }) => {
      renameSync(file, rotated);
      await stop();
    }),
  ];
  const log = join(folder, 'service.log');
  writeFileSync(log, logs.join(''));

  const whole = await runCli(['audit', 'verify', file, rotated, log], home.env);
  assert.deepEqual([whole.exitCode, whole.stderr], [0, '']);
  const ends = whole.stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t').slice(1).join(' '))
    .sort();
  assert.deepEqual(ends, ['3 1 continued 0', '4 4 ended 0']);

  const { STORAGE_ENCRYPTION_KEY = '' } = home.env;
  const { stdout: publicKey } = await runCli(['audit', 'public-key'], { STORAGE_ENCRYPTION_KEY });
  const others = await runCli(['audit', 'verify', file, rotated, '--public-key', '00'.repeat(32), publicKey.trim()]);
  assert.deepEqual([others.exitCode, others.stdout], [0, whole.stdout]);

  writeFileSync(rotated, readFileSync(rotated, 'utf8').replace('"address":"127.0.0.1"', '"address":"127.0.0.2"'));
  const changed = await runCli(['audit', 'verify', file, rotated], home.env);
  assert.equal(changed.exitCode, 1);
  assert.equal(changed.stderr, `${rotated}:3: the line before it in its chain, 2, was changed\nerror: the audit log has 1 problem\n`);
  writeFileSync(file, '');
  const cut = await runCli(['audit', 'verify', file, log], home.env);
  assert.match(cut.stderr, /^.*service\.log:\d+: the lines of the chain [0-9a-f]{16} up to 4 are missing\n/);
});

test('audit verify: a missing file, a wrong key and no key are clear errors', async () => {
  const file = join(await temporaryFolder(), 'audit.log');
  appendFileSync(file, '');
  const env = { STORAGE_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64') };
  assert.deepEqual(await runCli(['audit', 'verify', file], env), {
    exitCode: 1,
    stdout: '',
    stderr: `${file}:1: no line of the file is in a chain\nerror: the audit log has 1 problem\n`,
  });
  const missing = await runCli(['audit', 'verify', `${file}.9`], env);
  assert.equal(missing.exitCode, 1);
  assert.match(missing.stderr, /^error: ENOENT: no such file or directory, open '.*audit\.log\.9'\n$/);
  const wrong = await runProgram(['audit', 'verify', file, '--public-key', 'AB']);
  assert.deepEqual([wrong.exitCode, wrong.stderr], [2, 'error: --public-key AB must have 64 lowercase hex digits\n']);
  const none = await runProgram(['audit', 'verify', file]);
  assert.equal(none.exitCode, 2);
  assert.match(none.stderr, /STORAGE_ENCRYPTION_KEY/);
});
