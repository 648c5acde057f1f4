import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { computeAddress } from 'ethers';
import { addressFromPublicKey } from '../../src/chains/stellar/address.js';
import { startAnvil } from '../support/anvil.js';
import { rest } from '../support/callers.js';
import { fakeKey } from '../support/fake-provider.js';
import { startFakeVault, transitSignerOf, vaultAccessOf } from '../support/fake-vault.js';
import { createEd25519Home, createServiceHome, type ServiceHome, startService } from '../support/service.js';
import { startServiceHere } from '../support/service-here.js';
import { noSoftHsm, softHsm } from '../support/soft-hsm.js';
import { waitFor } from '../support/wait-for.js';

/** Lets the relayer of a home use this signer. */
async function useSigner({ dir }: ServiceHome, type: string, config: object): Promise<void> {
  const file = join(dir, 'config.json');
  const content = JSON.parse(await readFile(file, 'utf8'));
  await writeFile(file, JSON.stringify({ ...content, signers: [{ id: 's1', type, config }] }));
}

const rpcUrl = 'http://127.0.0.1:9';

describe('hosted keys in the service', () => {
  it('vault: the secret is the key of an EVM relayer; the signer is shown without its credentials', async (test) => {
    const vault = await startFakeVault(test);
    const privateKey = `0x${randomBytes(32).toString('hex')}`;
    vault.secrets.set('secret/data/team/app', { value: ` ${privateKey}\n` });
    const home = await createServiceHome({ rpcUrl });
    test.after(() => home.remove());
    await useSigner(home, 'vault', { ...vaultAccessOf(vault), key_name: 'team/app' });
    const service = await startServiceHere(home);
    test.after(() => service.stop());
    const address = computeAddress(privateKey);
    assert.equal((await rest(service.baseUrl, 'GET', '/relayers/r1')).body.data.address, address);
    assert.deepEqual((await rest(service.baseUrl, 'GET', '/signers/s1')).body.data, {
      id: 's1',
      type: 'vault',
      config: { evm_address: address, address: vault.address, key_name: 'team/app' },
    });
    const { status } = await rest(service.baseUrl, 'POST', '/relayers/r1/sign', { message: 'hello' });
    assert.equal(status, 200);
    const { output } = service;
    for (const secret of [privateKey.slice(2), vault.roleId, vault.secretId]) assert.ok(!output().includes(secret), 'no secret is logged');
  });

  it('vault_transit: signs for a Stellar relayer; while Vault is away the service starts, and calls get 503 with the reason', async (test) => {
    const vault = await startFakeVault(test);
    const { key, config } = transitSignerOf(vault, 'app');
    const home = await createEd25519Home({ network: 'stellar', rpcUrls: [rpcUrl], networkFields: { passphrase: 'Local' } });
    test.after(() => home.remove());
    await useSigner(home, 'vault_transit', config);
    const first = await startServiceHere(home);
    const address = addressFromPublicKey(key.publicKey.bytes);
    assert.equal((await rest(first.baseUrl, 'GET', '/relayers/r1')).body.data.address, address);
    await first.stop();
    vault.intercept = (_, response) => {
      response.destroy();
      return true;
    };
    const second = await startServiceHere(home);
    test.after(() => second.stop());
    assert.equal((await rest(second.baseUrl, 'GET', '/relayers/r1')).body.data.address, address);
    assert.match(second.output(), /the signer starts with its known public key/);
    const { status, body } = await rest(second.baseUrl, 'POST', '/signers/s1/test');
    assert.deepEqual([status, body.error], [503, 'signer s1 cannot sign now: Vault Transit is not reachable']);
  });

  it('pinned key: the start is refused if the same alias has another key, and names both', async (test) => {
    const vault = await startFakeVault(test);
    const keys = [randomBytes(32), randomBytes(32)].map((key) => `0x${key.toString('hex')}`);
    const [before = '', now = ''] = keys.map((key) => computeAddress(key));
    vault.secrets.set('secret/data/app', { value: keys[0] });
    const home = await createServiceHome({ rpcUrl });
    test.after(() => home.remove());
    await useSigner(home, 'vault', { ...vaultAccessOf(vault), key_name: 'app' });
    await (await startServiceHere(home)).stop();
    vault.secrets.set('secret/data/app', { value: keys[1] });
    await assert.rejects(startServiceHere(home), {
      name: 'ConfigError',
      message: `signers[0].config: names another key than before: now it is ${now}, but it was ${before}; restore the key, or give the signer of the new key another id`,
    });
    vault.secrets.set('secret/data/app', { value: keys[0] });
    await (await startServiceHere(home)).stop();
    vault.secrets.set('secret/data/other', { value: keys[1] });
    await useSigner(home, 'vault', { ...vaultAccessOf(vault), key_name: 'other' });
    const changed = await startServiceHere(home);
    assert.equal((await rest(changed.baseUrl, 'GET', '/relayers/r1')).body.data.address, now, 'another configured key is another key');
    await changed.stop();
  });

  it('pinned key: another Vault at a new address must have the same key; otherwise the start is refused, and names both', async (test) => {
    const [vault, other] = [await startFakeVault(test), await startFakeVault(test)];
    const keys = [randomBytes(32), randomBytes(32)].map((key) => `0x${key.toString('hex')}`);
    const [before = '', now = ''] = keys.map((key) => computeAddress(key));
    vault.secrets.set('secret/data/app', { value: keys[0] });
    other.secrets.set('secret/data/app', { value: keys[1] });
    const home = await createServiceHome({ rpcUrl });
    test.after(() => home.remove());
    await useSigner(home, 'vault', { ...vaultAccessOf(vault), key_name: 'app' });
    await (await startServiceHere(home)).stop();
    await useSigner(home, 'vault', { ...vaultAccessOf(other), key_name: 'app' });
    await assert.rejects(startServiceHere(home), {
      name: 'ConfigError',
      message: `signers[0].config: names another key than before: now it is ${now}, but it was ${before}; restore the key, or give the signer of the new key another id`,
    });
    other.secrets.set('secret/data/app', { value: keys[0] });
    await (await startServiceHere(home)).stop();
    other.secrets.set('secret/data/app', { value: keys[1] });
    await assert.rejects(startServiceHere(home), { name: 'ConfigError' }, 'the pin follows the key to its new address');
  });

  it('a service without hosted keys loads none of their code and libraries, and one with such a key only those of its kind', async (test) => {
    const vault = await startFakeVault(test);
    const { config } = transitSignerOf(vault, 'app');
    const loadedBy = async (signers: readonly object[]): Promise<readonly string[]> => {
      const home = await createServiceHome({ rpcUrl });
      test.after(() => home.remove());
      const file = join(home.dir, 'config.json');
      const content = JSON.parse(await readFile(file, 'utf8'));
      await writeFile(file, JSON.stringify({ ...content, signers: [...content.signers, ...signers] }));
      // Names every script that the process loaded.
      const folder = join(home.dir, 'coverage');
      const service = await startService({ ...home, env: { ...home.env, NODE_V8_COVERAGE: folder } });
      assert.equal((await rest(service.baseUrl, 'POST', '/relayers/r1/sign', { message: 'hello' })).status, 200);
      await service.stop();
      const reports = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')));
      const urls = reports.flatMap((report) => (JSON.parse(report) as { result: { url: string }[] }).result.map(({ url }) => url));
      // A file of the program holds several sources, which its map names.
      const maps = urls.filter((url) => url.includes('/dist/program/')).map((url) => readFile(new URL(`${url}.map`), 'utf8'));
      const sources = (await Promise.all(maps)).flatMap((map) => (JSON.parse(map) as { sources: string[] }).sources);
      assert.ok(sources.some((source) => source.includes('/src/signers/local/')));
      const parts = [...urls, ...sources].map((url) => /\/src\/signers\/([^/]+)\/|\/node_modules\/(@aws-sdk|@smithy|pkcs11js)\//.exec(url));
      return [...new Set(parts.flatMap((part) => part?.[1] ?? part?.[2] ?? []))].sort();
    };
    assert.deepEqual(await loadedBy([]), ['local']);
    assert.deepEqual(await loadedBy([{ id: 'stellar', type: 'vault_transit', config }]), ['hosted', 'local', 'vault', 'vault-transit']);
  });

  it('API: creates a signer, keeps it over a restart, deletes it, and refuses a key that the provider refuses', async (test) => {
    const vault = await startFakeVault(test);
    const { key, config } = transitSignerOf(vault, 'app');
    const home = await createServiceHome({ rpcUrl });
    test.after(() => home.remove());
    const first = await startServiceHere(home);
    const bare = { ...config, role_id: vault.roleId, secret_id: vault.secretId };
    const shown = {
      id: 'stellar-1',
      type: 'vault_transit',
      config: {
        public_key: Buffer.from(key.publicKey.bytes).toString('hex'),
        address: vault.address,
        key_name: 'app',
        pubkey: Buffer.from(key.publicKey.bytes).toString('base64'),
      },
    };
    const created = await rest(first.baseUrl, 'POST', '/signers', { id: 'stellar-1', type: 'vault_transit', config: bare });
    assert.deepEqual([created.status, created.body.data], [201, shown]);
    const wrong = { ...bare, pubkey: Buffer.from(fakeKey('ed25519').publicKey.bytes).toString('base64') };
    const refused = await rest(first.baseUrl, 'POST', '/signers', { id: 'stellar-2', type: 'vault_transit', config: wrong });
    assert.equal(refused.status, 400);
    assert.match(refused.body.error, /^config is refused by Vault Transit: pubkey is /);
    const missing = await rest(first.baseUrl, 'POST', '/signers', { type: 'vault', config: { address: vault.address, key_name: 'app' } });
    assert.equal(missing.status, 400);
    assert.match(missing.body.error, /config\.role_id is required; config\.secret_id is required/);
    await first.stop();
    const second = await startServiceHere(home);
    test.after(() => second.stop());
    assert.deepEqual((await rest(second.baseUrl, 'GET', '/signers/stellar-1')).body.data, shown);
    assert.equal((await rest(second.baseUrl, 'DELETE', '/signers/stellar-1')).status, 200);
    assert.equal((await rest(second.baseUrl, 'GET', '/signers/stellar-1')).status, 404);
    vault.intercept = (_, response) => {
      response.destroy();
      return true;
    };
    const away = await rest(second.baseUrl, 'POST', '/signers', { id: 'x', type: 'vault_transit', config: bare });
    assert.equal(away.status, 503);
    for (const { output } of [first, second])
      for (const secret of [vault.roleId, vault.secretId]) assert.ok(!output().includes(secret), 'no secret is logged');
  });

  it('API: refuses an address of Vault that would show a password or choose the path, and a key outside of the secrets engine', async (test) => {
    const vault = await startFakeVault(test);
    const home = await createServiceHome({ rpcUrl });
    test.after(() => home.remove());
    const service = await startServiceHere(home);
    test.after(() => service.stop());
    const config = { address: vault.address, role_id: vault.roleId, secret_id: vault.secretId, key_name: 'app' };
    const { host } = new URL(vault.address);
    for (const [change, problem] of [
      [{ address: `http://admin:hunter2@${host}` }, 'config.address must have no user name, password, query or fragment'],
      [{ address: `http://${host}/latest/meta-data?x=` }, 'config.address must have no user name, password, query or fragment'],
      [{ address: `http://${host}/#` }, 'config.address must have no user name, password, query or fragment'],
      [{ key_name: '../../auth/token/lookup-self' }, 'config.key_name must have no part "." or ".."'],
      [{ mount_point: 'secret/..' }, 'config.mount_point must have no part "." or ".."'],
    ] as const) {
      const { status, body } = await rest(service.baseUrl, 'POST', '/signers', { type: 'vault', config: { ...config, ...change } });
      assert.deepEqual([status, body.error], [400, problem]);
    }
    assert.equal(vault.asked(''), 0, 'Vault gets no request');
    assert.ok(!service.output().includes('hunter2'), 'no password is logged');
  });

  it('pkcs11: a relayer with a key in an HSM confirms on anvil what is sent before, while and after its token is away', {
    skip: noSoftHsm ?? false,
  }, async (test) => {
    const hsm = await softHsm();
    const anvil = await startAnvil({});
    test.after(() => anvil.stop());
    const home = await createServiceHome({ rpcUrl: anvil.url });
    test.after(() => home.remove());
    await useSigner(home, 'pkcs11', hsm.configOf('secp256k1'));
    const service = await startServiceHere(home);
    test.after(() => service.stop());
    const { address } = (await rest(service.baseUrl, 'GET', '/relayers/r1')).body.data;
    await anvil.rpc('anvil_setBalance', [address, '0x56bc75e2d63100000']);
    const send = async (value: number) => {
      const { status, body } = await rest(service.baseUrl, 'POST', '/relayers/r1/transactions', { to: `0x${'22'.repeat(20)}`, value });
      assert.equal(status, 200);
      return body.data.id as string;
    };
    const confirmed = (id: string) =>
      waitFor(`${id} to be confirmed`, async () => {
        const { body } = await rest(service.baseUrl, 'GET', `/relayers/r1/transactions/${id}`);
        return body.data.status === 'confirmed' ? true : undefined;
      });
    await confirmed(await send(1));
    const underWay = [await send(11), await send(12), await send(13)];
    await hsm.remove();
    const waiting = [await send(2), await send(3), await send(4)];
    await waitFor('the records to say that the HSM is away', async () => {
      const { body } = await rest(service.baseUrl, 'GET', `/relayers/r1/transactions/${waiting[0]}`);
      return /signer s1 cannot sign now: the HSM is not reachable/.test(body.data.status_reason) ? true : undefined;
    }).finally(() => hsm.insert());
    for (const id of [...underWay, ...waiting, await send(21)]) await confirmed(id);
    assert.ok(!service.output().includes(hsm.pin), 'the PIN is not logged');
    const { body: tested } = await rest(service.baseUrl, 'POST', '/signers/s1/test');
    assert.equal(tested.data.evm_address, address);
    assert.ok(tested.data.milliseconds >= 0);
    assert.equal((await rest(service.baseUrl, 'GET', '/signers/s1')).body.data.config.evm_address, address);
  });

  it('pkcs11: while the HSM is away, sign and sign-typed-data answer 503 SIGNER_UNAVAILABLE within 10 s, and sign again when it is back', {
    skip: noSoftHsm ?? false,
  }, async (test) => {
    const hsm = await softHsm();
    const home = await createServiceHome({ rpcUrl });
    test.after(() => home.remove());
    await useSigner(home, 'pkcs11', hsm.configOf('secp256k1'));
    const service = await startServiceHere(home);
    test.after(() => service.stop());
    const typedData = { domain_separator: '11'.repeat(32), hash_struct_message: '22'.repeat(32) };
    const calls = [
      () => rest(service.baseUrl, 'POST', '/relayers/r1/sign', { message: 'hello' }),
      () => rest(service.baseUrl, 'POST', '/relayers/r1/sign-typed-data', typedData),
    ];
    for (const call of calls) assert.equal((await call()).status, 200);
    await hsm.remove();
    try {
      // SoftHSM may sign with an object that it has read before.
      await waitFor('a signature to fail', async () => ((await calls[0]?.())?.status === 503 ? true : undefined));
      for (const call of calls) {
        const startMs = performance.now();
        const { status, headers, body } = await call();
        assert.ok(performance.now() - startMs < 11_000);
        assert.deepEqual([status, headers.get('x-error-reason')], [503, 'SIGNER_UNAVAILABLE']);
        assert.ok(Number(headers.get('retry-after')) >= 1, 'the caller learns when to try again');
        assert.equal(body.error, 'signer s1 cannot sign now: the HSM is not reachable');
      }
    } finally {
      await hsm.insert();
    }
    for (const call of calls) await waitFor('a signature to succeed', async () => ((await call()).status === 200 ? true : undefined));
  });

  it('pkcs11: a module that never returns delays the start by 10 s, and does not keep the process from ending', {
    skip: noSoftHsm ?? false,
  }, async (test) => {
    const hsm = await softHsm();
    const home = await createServiceHome({ rpcUrl, env: { SOFTHSM2_CONF: process.env.SOFTHSM2_CONF ?? '' } });
    test.after(() => home.remove());
    await useSigner(home, 'pkcs11', hsm.configOf('secp256k1'));
    const first = await startService(home);
    const { address } = (await rest(first.baseUrl, 'GET', '/relayers/r1')).body.data;
    await first.stop();
    // To open a pipe that nothing writes into never ends.
    const pipe = join(home.dir, 'never.conf');
    assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
    const second = await startService({ ...home, env: { ...home.env, SOFTHSM2_CONF: pipe } });
    assert.equal((await rest(second.baseUrl, 'GET', '/relayers/r1')).body.data.address, address);
    assert.match(second.output(), /cannot be opened: the HSM is not reachable: no answer within 10 s/);
    await second.stop();
    assert.match(second.output(), /"msg":"stopped"/);
  });

  it('pkcs11: over the API only a module that the configuration file uses is loaded', async (test) => {
    const home = await createServiceHome({ rpcUrl });
    test.after(() => home.remove());
    const service = await startServiceHere(home);
    test.after(() => service.stop());
    const config = { module_path: '/tmp/evil.so', token_label: 't', key_label: 'k', pin: '1234' };
    const refused = await rest(service.baseUrl, 'POST', '/signers', { type: 'pkcs11', config });
    assert.deepEqual(
      [refused.status, refused.body.error],
      [400, 'config.module_path must be a module that a signer in the configuration file uses'],
    );
    const both = await rest(service.baseUrl, 'POST', '/signers', { type: 'pkcs11', config: { ...config, slot: 1 } });
    assert.deepEqual([both.status, both.body.error], [400, 'config.token_label or slot is required, and not both']);
  });
});
