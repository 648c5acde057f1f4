import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { computeAddress } from 'ethers';
import { startFakeVault, transitSignerOf, vaultAccessOf } from '../support/fake-vault.js';
import { runCli, runProgram } from '../support/run-cli.js';
import { createServiceHome, type ServiceHome, startService } from '../support/service.js';
import { noSoftHsm, softHsm } from '../support/soft-hsm.js';

async function setSigners({ dir }: ServiceHome, signers: readonly object[]): Promise<void> {
  const file = join(dir, 'config.json');
  const content = JSON.parse(await readFile(file, 'utf8'));
  await writeFile(file, JSON.stringify({ ...content, signers: [...content.signers.slice(0, 1), ...signers] }));
}

test('signer test: signs with every signer of the file, or with one, while the service runs; exits with 1 if one fails', async (test) => {
  const vault = await startFakeVault(test);
  const { key, config } = transitSignerOf(vault, 'app');
  const privateKey = `0x${'5a'.repeat(32)}`;
  vault.secrets.set('secret/data/app', { value: privateKey });
  const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9' });
  test.after(() => home.remove());
  await setSigners(home, [
    { id: 'stellar', type: 'vault_transit', config },
    { id: 'read', type: 'vault', config: { ...vaultAccessOf(vault), key_name: 'app' } },
  ]);
  const service = await startService(home);
  test.after(() => service.stop());
  const publicKey = Buffer.from(key.publicKey.bytes).toString('hex');
  const all = await runCli(['signer', 'test'], home.env);
  assert.deepEqual([all.exitCode, all.stderr], [0, '']);
  const lines = all.stdout.trimEnd().split('\n');
  const [local, transit, read] = lines.map((line) => line.split('\t'));
  assert.deepEqual(local?.slice(0, 3), ['s1', 'local', home.address]);
  assert.deepEqual(transit?.slice(0, 3), ['stellar', 'vault_transit', publicKey]);
  assert.deepEqual([read?.[1], read?.[2]?.split(' ')[0]], ['vault', computeAddress(privateKey)]);
  for (const line of lines) assert.match(line, /\t\d+ ms$/);
  const one = await runCli(['signer', 'test', 'stellar'], home.env);
  assert.match(one.stdout, /^stellar\tvault_transit\t[0-9a-f]{64}\t\d+ ms\n$/);

  vault.transit.clear();
  const failed = await runCli(['signer', 'test'], home.env);
  assert.equal(failed.exitCode, 1);
  assert.match(failed.stdout, /^stellar\tvault_transit\tfailed\tconfig is refused by Vault Transit: HTTP 404; the log has the answer$/m);
  assert.match(failed.stdout, /^read\tvault\t0x/m, 'the others are tested, too');
  assert.equal(failed.stderr, 'error: 1 of 3 signers failed\n');
  vault.intercept = ({ path }, response) => {
    if (!path?.includes('/sign/')) return false;
    response.writeHead(403).end('permission denied');
    return true;
  };
  vault.transit.set('transit/keys/app', { type: 'ed25519', versions: [key] });
  const refused = await runCli(['signer', 'test', 'stellar'], home.env);
  assert.deepEqual(refused, {
    exitCode: 1,
    stdout: 'stellar\tvault_transit\tfailed\tsigner stellar cannot sign now: Vault Transit refuses to sign with this key\n',
    stderr: 'note: HTTP 403: permission denied\nerror: 1 of 1 signers failed\n',
  });
  for (const { stdout, stderr } of [all, failed, refused])
    for (const secret of [vault.roleId, vault.secretId, privateKey.slice(2)]) assert.ok(!`${stdout}${stderr}`.includes(secret));
});

test('signer test: exits with 2 for an id that no signer of the file has', async (test) => {
  const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9' });
  test.after(() => home.remove());
  const { exitCode, stderr } = await runCli(['signer', 'test', 'nothing'], home.env);
  assert.deepEqual([exitCode, stderr], [2, 'error: unknown signer id; ids in the configuration file: s1\n']);
});

test('signer test: an HSM whose module never returns fails within its time limit, and the command ends', {
  skip: noSoftHsm ?? false,
}, async (test) => {
  const hsm = await softHsm();
  const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9' });
  test.after(() => home.remove());
  await setSigners(home, [{ id: 'hsm', type: 'pkcs11', config: hsm.configOf('secp256k1') }]);
  const env = { ...home.env, SOFTHSM2_CONF: process.env.SOFTHSM2_CONF ?? '' };
  const works = await runProgram(['signer', 'test', 'hsm'], env);
  assert.match(works.stdout, /^hsm\tpkcs11\t0x[0-9a-fA-F]{40}\t\d+ ms\n$/);
  const pipe = join(home.dir, 'never.conf');
  assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
  const hangs = await runProgram(['signer', 'test', 'hsm'], { ...env, SOFTHSM2_CONF: pipe });
  assert.notEqual(hangs.exitCode, 0);
  assert.equal(hangs.stdout, 'hsm\tpkcs11\tfailed\tsigner hsm cannot be opened: the HSM is not reachable: no answer within 10 s\n');
});

test('signer test: without the optional package pkcs11js the signer fails and names it, and the others are tested', async (test) => {
  const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9' });
  test.after(() => home.remove());
  const config = {
    module_path: '/usr/lib/softhsm/libsofthsm2.so',
    token_label: 'none',
    key_label: 'none',
    pin: { type: 'plain', value: '48213907' },
  };
  await setSigners(home, [{ id: 'hsm', type: 'pkcs11', config }]);
  const hook = join(home.dir, 'without-package.cjs');
  await writeFile(
    hook,
    `const Module = require('node:module');
     const resolve = Module._resolveFilename;
     Module._resolveFilename = (name, ...rest) => {
       if (name === 'pkcs11js') throw Object.assign(new Error("Cannot find module 'pkcs11js'"), { code: 'MODULE_NOT_FOUND' });
       return resolve(name, ...rest);
     };`,
  );
  const { exitCode, stdout } = await runProgram(['signer', 'test'], { ...home.env, NODE_OPTIONS: `--require ${hook}` });
  assert.equal(exitCode, 1);
  assert.match(stdout, /^s1\tlocal\t0x/m);
  assert.match(
    stdout,
    /^hsm\tpkcs11\tfailed\tconfig is refused by the HSM: the module cannot be loaded, or the package pkcs11js is missing \(it is built by npm ci, with a C\+\+ compiler\): Cannot find module 'pkcs11js'/m,
  );
});
