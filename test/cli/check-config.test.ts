import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkCertificate } from '../../src/cli/check-certificate.js';
import { cheapKeystore } from '../support/cheap-keystore.js';
import { runCli, runProgram } from '../support/run-cli.js';
import { sampleConfig, sampleSigner } from '../support/sample-config.js';
import { selfSigned } from '../support/self-signed.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const settings = { API_KEY: 'k'.repeat(32), STORAGE_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'), KEY_PASSPHRASE: 'hunter2' };

async function folderWithKeystore(change: Readonly<Record<string, unknown>> = {}, mode = 0o600): Promise<string> {
  const folder = await temporaryFolder({ 'key.json': await cheapKeystore(Buffer.alloc(32, 1), 'hunter2') });
  await chmod(join(folder, 'key.json'), mode);
  return temporaryFolder({
    'config.json': sampleConfig({
      signers: [sampleSigner({ config: { path: join(folder, 'key.json'), passphrase: { type: 'env', value: 'KEY_PASSPHRASE' } } })],
      ...change,
    }),
  });
}

test('check-config: accepts a valid configuration and notes a variable without effect', async () => {
  const env = { ...settings, CONFIG_DIR: await folderWithKeystore(), REDIS_URL: 'redis://:hunter2@redis' };
  assert.deepEqual(await runCli(['check-config'], env), {
    exitCode: 0,
    stdout: 'configuration is valid: 1 relayer, 1 network, 1 signer, 1 notification\n',
    stderr: 'note: REDIS_URL has no effect on the service, which needs no Redis; only relayer import-openzeppelin reads it\n',
  });
});

test('check-config: notes what has no effect although there are problems, and takes LOG_LEVEL in any case', async () => {
  const env = { ...settings, CONFIG_DIR: await folderWithKeystore(), REDIS_URL: 'redis://redis', LOG_LEVEL: 'INFO', APP_PORT: 'x' };
  const { exitCode, stderr } = await runCli(['check-config'], env);
  assert.equal(exitCode, 2);
  assert.match(stderr, /^note: REDIS_URL has no effect on the service, .*\nerror: the configuration has 1 problem:\n {2}APP_PORT: /);
});

test('serve: finds a taken port before it opens anything', async (test) => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  test.after(() => taken.close());
  const { port } = taken.address() as AddressInfo;
  const file = join(await temporaryFolder(), 'relayer.db');
  const env = { ...settings, CONFIG_DIR: await folderWithKeystore(), DATABASE_URL: `sqlite:${file}` };
  for (const [ports, expected] of [
    [{ APP_PORT: `${port}` }, `APP_PORT: the port ${port} on 127.0.0.1 is already in use; set another port`],
    [{ APP_PORT: '0', METRICS_PORT: `${port}` }, `METRICS_PORT: the port ${port} on 127.0.0.1 is already in use; set another port`],
    [{ APP_PORT: '18099', METRICS_PORT: '18099' }, 'METRICS_PORT: is the port of APP_PORT \\(18099\\); set another port'],
  ] as const) {
    const { exitCode, stderr } = await runCli(['serve'], { ...env, ...ports });
    assert.equal(exitCode, 2);
    assert.match(stderr, new RegExp(expected));
    assert.ok(!existsSync(file));
  }
});

test('serve: a start that is refused is one JSON line on standard output, and a sentence on standard error', async () => {
  const env = { ...settings, CONFIG_DIR: await folderWithKeystore() };
  const wrong = await runProgram(['serve'], { ...env, APP_PORT: 'x' });
  assert.equal(wrong.exitCode, 2);
  const { time, ...line } = JSON.parse(wrong.stdout);
  const problem = 'APP_PORT: must be an integer from 0 to 65535 (value: "x")';
  assert.deepEqual(line, { level: 'error', problems: [problem], msg: 'the service cannot start' });
  assert.equal(wrong.stderr, `error: the configuration has 1 problem:\n  ${problem}\n`);
  const missing = await runProgram(['serve'], { ...env, APP_PORT: '0', DATABASE_URL: 'sqlite:package.json/relayer.db' });
  assert.equal(missing.exitCode, 2);
  const last = JSON.parse(missing.stdout.trimEnd().split('\n').at(-1) ?? '');
  assert.equal(last.msg, 'the service cannot start');
  assert.ok(missing.stderr.startsWith(`error: ${last.err.message}`), missing.stderr);
});

test('check-config: notes a keystore that other users can read', async () => {
  for (const [mode, noted] of [
    [0o600, false],
    [0o640, true],
    [0o604, true],
  ] as const) {
    const env = { ...settings, CONFIG_DIR: await folderWithKeystore({}, mode) };
    const { exitCode, stderr } = await runCli(['check-config'], env);
    assert.equal(exitCode, 0);
    assert.equal(/^note: the keystore \/.*\/key.json can be read by other users; run chmod 600 on it\n$/.test(stderr), noted, stderr);
  }
});

test('check-config: reports the problems of settings and file together, without a stack or a secret', async () => {
  const env = { ...settings, API_KEY: 'hunter2-hunter2', CONFIG_DIR: await folderWithKeystore({ extra: 1 }), APP_PORT: 'x' };
  assert.deepEqual(await runCli(['check-config'], env), {
    exitCode: 2,
    stdout: '',
    stderr: [
      'error: the configuration has 3 problems:',
      '  APP_PORT: must be an integer from 0 to 65535 (value: "x")',
      '  API_KEY: has 15 characters; at least 32 are required',
      '  extra: is not a known section',
      '',
    ].join('\n'),
  });
});

test('check-config: reports a missing keystore file', async () => {
  const dir = await temporaryFolder({ 'config.json': sampleConfig() });
  assert.deepEqual(await runCli(['check-config'], { ...settings, CONFIG_DIR: dir }), {
    exitCode: 2,
    stdout: '',
    stderr: 'error: the configuration has 1 problem:\n  signers[0].config.path: the keystore file keys/key.json does not exist\n',
  });
});

test('check-config: the example configuration lacks only its keystore', async () => {
  const env = {
    ...settings,
    CONFIG_DIR: 'examples/config',
    KEYSTORE_PASSPHRASE: 'hunter2',
    WEBHOOK_SIGNING_KEY: 'a-signing-key-of-32-characters-xx',
  };
  const { exitCode, stderr } = await runCli(['check-config'], env);
  assert.equal(exitCode, 2);
  assert.match(
    stderr,
    /^error: the configuration has 1 problem:\n {2}signers\[0\]\.config\.path: the keystore file examples\/config\/keys\/local-signer\.json does not exist\n$/,
  );
});

test('check-config: names a pipe in the place of the configuration or of a keystore, and does not wait for its end', async () => {
  const folder = await temporaryFolder();
  execFileSync('mkfifo', [join(folder, 'config.json')]);
  const ofConfig = await runCli(['check-config'], { ...settings, CONFIG_DIR: folder });
  assert.deepEqual([ofConfig.exitCode, /config\.json: is not a regular file/.test(ofConfig.stderr)], [2, true], ofConfig.stderr);

  const keystore = await temporaryFolder();
  execFileSync('mkfifo', [join(keystore, 'key.json')]);
  const signer = sampleSigner({ config: { path: join(keystore, 'key.json'), passphrase: { type: 'env', value: 'KEY_PASSPHRASE' } } });
  const env = { ...settings, CONFIG_DIR: await temporaryFolder({ 'config.json': sampleConfig({ signers: [signer] }) }) };
  const ofKeystore = await runCli(['check-config'], env);
  assert.deepEqual([ofKeystore.exitCode, /key\.json is not a regular file/.test(ofKeystore.stderr)], [2, true], ofKeystore.stderr);
});

test('check-config: refuses what serve would refuse in DATABASE_URL, and accepts hosts in parameters', async () => {
  const env = { ...settings, CONFIG_DIR: await folderWithKeystore() };
  const refusals = {
    'postgres://u:hunter2@db/relayer?sslmod=require': /unknown parameters: sslmod/,
    'postgres://u:hunter2@db:70000/relayer': /invalid port/,
    'postgres://u:hunter2@db/relayer?sslrootcert=/missing/ca.crt': /cannot read the file of sslrootcert/,
    'postgres://u:hunter2@db/relayer?target_session_attrs=standby': /use read-write/,
    'postgres://u:p@ss/w:hunter2@db:5432/relayer': /is not a valid PostgreSQL URL; .* %2F for a slash/,
    'postgres://u:p/hunter2@db:5432/relayer': /is not a valid PostgreSQL URL; .* %2F for a slash/,
  };
  for (const [url, reason] of Object.entries(refusals)) {
    const { exitCode, stderr } = await runCli(['check-config'], { ...env, DATABASE_URL: url });
    assert.equal(exitCode, 2);
    assert.match(stderr, /^error: the configuration has 1 problem:\n {2}DATABASE_URL: /m);
    assert.match(stderr, reason);
    assert.doesNotMatch(stderr, /hunter2/);
  }
  const url = 'postgres://u@/relayer?host=db1,db2&port=5432,5433&target_session_attrs=read-write';
  assert.equal((await runCli(['check-config'], { ...env, DATABASE_URL: url })).exitCode, 0);
});

test('check-config, serve: name the variable of a certificate or a key that cannot be used', async () => {
  const [one, other] = [await selfSigned(), await selfSigned()];
  const folder = await temporaryFolder({ 'cert.pem': one.certPem, 'key.pem': one.keyPem, 'other.pem': other.keyPem, 'text.pem': 'no PEM' });
  const at = (name: string) => join(folder, name);
  for (const name of ['key.pem', 'other.pem']) await chmod(at(name), 0o600);
  const env = { ...settings, CONFIG_DIR: await folderWithKeystore(), DATABASE_URL: `sqlite:${at('relayer.db')}`, APP_PORT: '0' };
  const told = async (command: string, cert: string, key: string) => {
    const { exitCode, stderr } = await runCli([command], { ...env, TLS_CERT_FILE: at(cert), TLS_KEY_FILE: at(key) });
    return [exitCode, stderr.replaceAll(folder, '')];
  };
  const refusals = [
    ['missing.pem', 'key.pem', 'TLS_CERT_FILE: the file /missing.pem does not exist'],
    ['text.pem', 'key.pem', 'TLS_CERT_FILE: the file /text.pem has no certificate in PEM'],
    ['cert.pem', 'missing.pem', 'TLS_KEY_FILE: the file /missing.pem does not exist'],
    ['cert.pem', 'text.pem', 'TLS_KEY_FILE: the file /text.pem has no private key in PEM without a passphrase'],
    ['cert.pem', 'other.pem', 'TLS_KEY_FILE: is not the key of the certificate in /cert.pem'],
  ] as const;
  for (const [cert, key, problem] of refusals)
    for (const command of ['check-config', 'serve'])
      assert.deepEqual(await told(command, cert, key), [2, `error: the configuration has 1 problem:\n  ${problem}\n`]);
  assert.ok(!existsSync(at('relayer.db')));
  // The certificate is valid for one day.
  const [exitCode, notes] = await told('check-config', 'cert.pem', 'key.pem');
  assert.equal(exitCode, 0);
  assert.match(String(notes), /^note: the certificate in \/cert\.pem expires at \d{4}-\d\d-\d\dT[\d:.]+Z\n$/);
  await chmod(at('key.pem'), 0o640);
  assert.match(
    String((await told('check-config', 'cert.pem', 'key.pem'))[1]),
    /note: the private key \/key\.pem can be read by other users/,
  );
});

test('a certificate that has expired, or that is not valid yet, is a note', async () => {
  const { certPem, keyPem } = await selfSigned();
  const folder = await temporaryFolder({ 'cert.pem': certPem, 'key.pem': keyPem });
  await chmod(join(folder, 'key.pem'), 0o600);
  const files = { tlsCertFile: join(folder, 'cert.pem'), tlsKeyFile: join(folder, 'key.pem') };
  const day = 24 * 3_600_000;
  for (const [days, note] of [
    [2, /expired at/],
    [-2, /is not valid before/],
  ] as const) {
    const { problems, notices } = checkCertificate(files, Date.now() + days * day);
    assert.deepEqual(problems, []);
    assert.match(notices.join(), note);
  }
});
