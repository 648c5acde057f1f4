import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { it } from 'node:test';
import { getBase58Decoder } from '@solana/kit';
import { StrKey } from '@stellar/stellar-sdk';
import { computeAddress } from 'ethers';
import { startApp } from '../../src/app/app.js';
import { loadConfiguration } from '../../src/cli/load-configuration.js';
import { keyFromSeed, publicKeyOf } from '../../src/signers/local/ed25519-key.js';
import { cheapKeystore, keystoreOfAnyNetwork } from '../support/cheap-keystore.js';
import { apiKey } from '../support/service.js';
import { silentLog } from '../support/stored-samples.js';
import { temporaryFolder } from '../support/temporary-folder.js';

/** No node listens there: this tests the start, which calls no node. */
const rpcUrl = 'http://127.0.0.1:9';

const networks = {
  'networks/own.json': {
    networks: [
      {
        type: 'evm',
        network: 'house',
        chain_id: 31337,
        rpc_urls: [rpcUrl],
        required_confirmations: 1,
        average_blocktime_ms: 400,
        symbol: 'ETH',
      },
      { type: 'evm', network: 'annex', from: 'house', chain_id: 31338, features: ['eip1559'] },
    ],
  },
  'networks/theirs.json': { networks: [{ type: 'evm', network: 'base-ours', from: 'base', rpc_urls: [{ url: rpcUrl, weight: 10 }] }] },
};
const places = [
  ['evm', 'house'],
  ['evm', 'annex'],
  ['evm', 'base-ours'],
  ['evm', 'mainnet'],
  ['evm', 'polygon'],
  ['stellar', 'testnet'],
  ['solana', 'devnet'],
  ['evm', 'arbitrum-one'],
] as const;
const strategy = { policies: { fee_payment_strategy: 'relayer' } };

function placeOf(index: number): (typeof places)[number] {
  return places[index % places.length] ?? places[0];
}

function addressOf(index: number, key: Buffer): string {
  const publicKey = publicKeyOf(keyFromSeed(key));
  const [type] = placeOf(index);
  if (type === 'stellar') return StrKey.encodeEd25519PublicKey(publicKey);
  return type === 'solana' ? getBase58Decoder().decode(publicKey) : computeAddress(`0x${key.toString('hex')}`);
}

it('fifty relayers on eight networks all serve after one start', { timeout: 200_000 }, async () => {
  const keys = Array.from({ length: 10 }, () => randomBytes(32));
  // As OpenZeppelin Relayer writes them for every network.
  const keystores = await Promise.all(keys.map(async (key, index) => keystoreOfAnyNetwork(await cheapKeystore(key, `pass-${index}`))));
  const folder = await temporaryFolder(Object.fromEntries(keystores.map((json, index) => [`key-${index}.json`, json])));
  const relayers = Array.from({ length: 50 }, (_, index) => ({
    id: `relayer-${index}`,
    name: `Relayer ${index}`,
    network: placeOf(index)[1],
    network_type: placeOf(index)[0],
    ...(placeOf(index)[0] === 'evm' ? {} : strategy),
    paused: false,
    // Each network comes round every eighth time, each key every tenth: no key is twice on one chain before forty.
    signer_id: `key-${(index + Math.floor(index / 40)) % keys.length}`,
    notification_id: index % 2 === 0 ? 'hook' : null,
    custom_rpc_urls: [rpcUrl],
  }));
  const dir = await temporaryFolder({
    ...networks,
    'config.json': {
      relayers,
      signers: keys.map((_, index) => ({
        id: `key-${index}`,
        type: 'local',
        config: { path: join(folder, `key-${index}.json`), passphrase: { type: 'env', value: `PASS_${index}` } },
      })),
      notifications: [{ id: 'hook', type: 'webhook', url: 'https://hooks.example.com/x' }],
      plugins: [],
    },
  });
  const { settings, config } = await loadConfiguration({
    CONFIG_DIR: dir,
    DATABASE_URL: `sqlite:${join(dir, 'relayer.db')}`,
    STORAGE_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    API_KEY: apiKey,
    APP_PORT: '0',
    ...Object.fromEntries(keys.map((_, index) => [`PASS_${index}`, `pass-${index}`])),
  });
  const app = await startApp(settings, config, silentLog);
  try {
    assert.deepEqual(
      app.relayers.map(({ id, address, network }) => [id, address, network.name]),
      relayers.map(({ id, signer_id, network }, index) => [
        id,
        addressOf(index, keys[Number(signer_id.slice(4))] ?? Buffer.alloc(32)),
        network,
      ]),
    );
    const answer = await fetch(`http://127.0.0.1:${app.port}/api/v1/relayers?per_page=100`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    const { data, pagination } = (await answer.json()) as { data: readonly { id: string }[]; pagination: { total_items: number } };
    assert.deepEqual([data.length, pagination.total_items], [50, 50]);
  } finally {
    await app.stop();
  }
});
