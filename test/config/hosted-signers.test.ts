import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { loadConfiguration } from '../../src/cli/load-configuration.js';
import { ConfigError } from '../../src/config/problem.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const plain = (value: string) => ({ type: 'plain', value });
const azure = {
  tenant_id: plain('tenant'),
  client_id: 'client',
  client_secret: plain('secret'),
  vault_url: 'https://a.vault.azure.net',
  key_name: 'key',
};
const transit = {
  address: 'http://vault:8200',
  role_id: plain('role'),
  secret_id: plain('secret'),
  key_name: 'key',
  pubkey: Buffer.alloc(32, 7).toString('base64'),
};
const cdp = { api_key_id: 'id', api_key_secret: plain('secret'), wallet_secret: plain('secret'), account_address: `0x${'12'.repeat(20)}` };
const networks: Readonly<Record<string, string>> = { evm: 'sepolia', stellar: 'testnet', solana: 'devnet' };

/** Loads a configuration whose only relayer uses this signer. */
async function load(type: string, config: object, networkType = 'evm') {
  const policies = networkType === 'evm' ? {} : { fee_payment_strategy: 'relayer' };
  const relayer = { id: 'r1', name: 'One', network: networks[networkType], network_type: networkType, signer_id: 's1', policies };
  const file = { relayers: [relayer], notifications: [], signers: [{ id: 's1', type, config }], networks: [] };
  const env = {
    CONFIG_DIR: await temporaryFolder({ 'config.json': JSON.stringify(file) }),
    API_KEY: 'k'.repeat(32),
    STORAGE_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    TENANT: 'tenant',
  };
  return loadConfiguration(env);
}

/** Returns the problems of that configuration. */
async function problemsOf(...wanted: Parameters<typeof load>): Promise<readonly string[]> {
  const result = await load(...wanted).catch((error: unknown) => error);
  return result instanceof ConfigError ? result.problems.map(({ path, problem }) => `${path}: ${problem}`) : [];
}

describe('hosted signers of the file', () => {
  it('networks: a kind of key that cannot sign for a network is refused with the reason', async () => {
    const why = (type: string, network: string, reason: string) => [
      `relayers[0].signer_id: a key of type ${type} cannot sign for ${network} networks, because ${reason}; use another type of signer`,
    ];
    for (const network of ['stellar', 'solana'])
      assert.deepEqual(
        await problemsOf('azure_key_vault', azure, network),
        why('azure_key_vault', network, 'Azure Key Vault has no ed25519 keys'),
      );
    assert.deepEqual(await problemsOf('vault_transit', transit), why('vault_transit', 'evm', 'Vault Transit has no secp256k1 keys'));
    assert.deepEqual(await problemsOf('cdp', cdp, 'stellar'), why('cdp', 'stellar', 'CDP has no Stellar accounts'));
    const evmAccount = `account_address ${cdp.account_address} is an account of EVM networks`;
    assert.deepEqual(await problemsOf('cdp', cdp, 'solana'), why('cdp', 'solana', evmAccount));
    const onSolana = { ...cdp, account_address: '11111111111111111111111111111111' };
    assert.deepEqual(
      await problemsOf('cdp', onSolana),
      why('cdp', 'evm', `account_address ${onSolana.account_address} is an account of Solana`),
    );
    assert.deepEqual(await problemsOf('cdp', onSolana, 'solana'), []);
    assert.deepEqual(await problemsOf('cdp', cdp), []);
    assert.deepEqual(await problemsOf('azure_key_vault', azure), []);
    assert.deepEqual(await problemsOf('vault_transit', transit, 'stellar'), []);
  });

  it('references: every text may be one, and a secret must be one', async () => {
    assert.deepEqual(await problemsOf('azure_key_vault', { ...azure, tenant_id: { type: 'env', value: 'TENANT' } }), []);
    assert.deepEqual(await problemsOf('azure_key_vault', { ...azure, vault_url: { type: 'env', value: 'NO_SUCH_URL' } }), [
      'signers[0].config.vault_url.value: names the environment variable NO_SUCH_URL, which is not set',
    ]);
    assert.match((await problemsOf('azure_key_vault', { ...azure, client_secret: 'secret' })).join(), /client_secret: must be \{"type"/);
  });

  it('file references: the secret is what the file has without the line break at its end, and is read again on demand', async () => {
    const folder = await temporaryFolder({ secret: ' first one \r\n', tenant: 'tenant\n' });
    const reference = (name: string) => ({ type: 'file', value: join(folder, name) });
    const { config } = await load('azure_key_vault', { ...azure, client_secret: reference('secret'), tenant_id: reference('tenant') });
    const [signer] = config.signers;
    assert.ok(signer !== undefined && 'hosted' in signer);
    assert.deepEqual(signer.hosted.secrets, { client_secret: ' first one ' });
    assert.equal('tenant_id' in signer.hosted.at && signer.hosted.at.tenant_id, 'tenant');
    await writeFile(join(folder, 'secret'), 'second');
    assert.deepEqual(signer.secretsInFiles(), { client_secret: 'second' });
    for (const spoil of [() => writeFile(join(folder, 'secret'), '\n'), () => rm(join(folder, 'secret'))]) {
      await spoil();
      assert.deepEqual(signer.secretsInFiles(), {}, 'a file without a secret changes nothing');
    }
  });

  it('file references: a file that cannot be used is refused, without its name, which may be a secret that was given instead', async () => {
    const folder = await temporaryFolder({ empty: '\n', large: 'x'.repeat(65_537) });
    const problemOf = async (value: string) =>
      (await problemsOf('azure_key_vault', { ...azure, client_secret: { type: 'file', value } })).join();
    const at = 'signers[0].config.client_secret.value: names a file that';
    assert.equal(await problemOf('hunter2'), `${at} does not exist`);
    assert.equal(await problemOf(folder), `${at} is a folder`);
    assert.equal(await problemOf('/dev/zero'), `${at} is not a regular file`);
    assert.equal(await problemOf(join(folder, 'empty')), `${at} is empty`);
    assert.equal(await problemOf(join(folder, 'large')), `${at} has 65537 bytes; the maximum is 65536`);
  });

  it('azure_key_vault: auth_type decides which fields are required, and other types are refused', async () => {
    const { tenant_id: tenant, vault_url, key_name } = azure;
    assert.deepEqual(await problemsOf('azure_key_vault', { auth_type: 'managed_identity', vault_url, key_name, key_version: '' }), []);
    assert.deepEqual(await problemsOf('azure_key_vault', { auth_type: 'workload_identity', tenant_id: tenant, vault_url, key_name }), [
      'signers[0].config.client_id: is required if auth_type is workload_identity',
    ]);
    assert.deepEqual(await problemsOf('azure_key_vault', { tenant_id: tenant, client_id: 'client', vault_url, key_name }), [
      'signers[0].config.client_secret: is required if auth_type is client_secret',
    ]);
    assert.match((await problemsOf('azure_key_vault', { ...azure, auth_type: 'password' })).join(), /auth_type: must be one of/);
  });
});
