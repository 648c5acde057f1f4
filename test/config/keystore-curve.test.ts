import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Keypair } from '@stellar/stellar-sdk';
import { loadConfiguration } from '../../src/cli/load-configuration.js';
import type { LocalSignerEntry } from '../../src/config/signer-entries.js';
import { cheapEd25519Keystore, cheapKeystore } from '../support/cheap-keystore.js';
import { startServiceHere } from '../support/service-here.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const key = randomBytes(32);
const networks = [
  { type: 'evm', network: 'local', rpc_urls: ['http://127.0.0.1:9'], chain_id: 31337, required_confirmations: 1, symbol: 'ETH' },
  { type: 'stellar', network: 'ledger', rpc_urls: ['http://127.0.0.1:9'], passphrase: 'Standalone Network ; February 2017' },
].map((network) => ({ ...network, average_blocktime_ms: 400, is_testnet: true }));

/** The environment of a configuration with one keystore that names its address, an EVM signer, and another signer for a Stellar relayer. */
async function envWith(config: object, keystore?: string): Promise<Record<string, string>> {
  const folder = await temporaryFolder({ 'key.json': keystore ?? (await cheapKeystore(key, 'pass')) });
  const of = { path: join(folder, 'key.json'), passphrase: { type: 'plain', value: 'pass' } };
  const relayer = (network_type: string, network: string) => ({
    id: network_type,
    name: network_type,
    network,
    network_type,
    paused: false,
    signer_id: `s-${network_type}`,
    policies: { min_balance: 0 },
  });
  const evm = keystore === undefined ? [relayer('evm', 'local')] : [];
  const stellar = { ...relayer('stellar', 'ledger'), policies: { fee_payment_strategy: 'relayer', min_balance: 0 } };
  const signers = [
    { id: 's-stellar', type: 'local', config: { ...of, ...config } },
    ...(keystore === undefined ? [{ id: 's-evm', type: 'local', config: of }] : []),
  ];
  const dir = await temporaryFolder({ 'config.json': { relayers: [...evm, stellar], signers, networks } });
  return {
    CONFIG_DIR: dir,
    DATABASE_URL: `sqlite:${join(dir, 'relayer.db')}`,
    STORAGE_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    API_KEY: 'a-key-of-at-least-32-characters-please',
    APP_PORT: '0',
  };
}

async function problemsOf(env: Record<string, string>): Promise<readonly string[]> {
  const error = await loadConfiguration(env).then(
    () => assert.fail('it loads'),
    (reason: { readonly problems: readonly { readonly path: string; readonly problem: string }[] }) => reason,
  );
  return error.problems.map(({ path, problem }) => `${path}: ${problem}`);
}

describe('the curve of a keystore', () => {
  it('curve: one keystore with an address serves an EVM network and Stellar, by two signers', async (test) => {
    const env = await envWith({ curve: 'ed25519' });
    const { config } = await loadConfiguration(env);
    const curves = config.signers.map((signer) => (signer as LocalSignerEntry).keystore.curves);
    assert.deepEqual(curves, [['ed25519'], ['secp256k1']]);
    const service = await startServiceHere({ dir: '', env, relayerId: '', address: '', privateKey: '', remove: async () => undefined });
    test.after(() => service.stop());
    const answer = await fetch(`${service.baseUrl}/api/v1/relayers/stellar`, { headers: { authorization: `Bearer ${env.API_KEY}` } });
    const { data } = (await answer.json()) as { readonly data: { readonly address: string } };
    assert.equal(data.address, Keypair.fromRawEd25519Seed(key).publicKey());
  });

  it('curve: without it a keystore with an address is for EVM networks, and the error says how to use the same key', async () => {
    assert.deepEqual(await problemsOf(await envWith({})), [
      'relayers[1].signer_id: the keystore of "s-stellar" has the curve secp256k1; stellar networks need ed25519. To use the same key there, set "curve": "ed25519" in the config of the signer. To create one: relayer keystore create --type ed25519',
    ]);
  });

  it('curve: is one of two, and one that the format of the keystore has', async () => {
    assert.deepEqual(await problemsOf(await envWith({ curve: 'p256' })), ['signers[0].config.curve: must be "secp256k1" or "ed25519"']);
    assert.deepEqual(await problemsOf(await envWith({ curve: 'secp256k1' }, cheapEd25519Keystore(key, 'pass'))), [
      'signers[0].config.curve: is secp256k1, but the keystore has the curve ed25519',
    ]);
  });
});
