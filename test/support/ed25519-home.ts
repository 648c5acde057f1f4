import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addressFromPublicKey as solanaAddressFrom } from '../../src/chains/solana/address.js';
import { addressFromPublicKey as stellarAddressFrom } from '../../src/chains/stellar/address.js';
import { keyFromSeed, publicKeyOf } from '../../src/signers/local/ed25519-key.js';
import { cheapEd25519Keystore } from './cheap-keystore.js';
import { apiKey, type ServiceHome } from './service.js';

/** What differs from test to test. */
export interface Ed25519HomeOptions {
  readonly network: 'solana' | 'stellar';
  readonly rpcUrls: readonly string[];
  /** Of the network's entry, beside what every network has: `{ passphrase }` on Stellar. */
  readonly networkFields?: object;
  readonly policies?: object;
  readonly notifications?: readonly object[];
  readonly notificationId?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Makes a home with one relayer of that network, `r1`, in a folder of its own. Its `address` is as the network writes it, its `privateKey` the seed in hex. */
export async function createEd25519Home(options: Ed25519HomeOptions): Promise<ServiceHome> {
  const { network, rpcUrls, networkFields, policies, notifications = [], notificationId, env } = options;
  const dir = await mkdtemp(join(tmpdir(), 'relayer-test-'));
  const seed = randomBytes(32);
  const path = join(dir, 'keystore.json');
  await writeFile(path, cheapEd25519Keystore(seed, 'pass'));
  const relayer = {
    id: 'r1',
    name: 'Relayer One',
    network: 'local',
    paused: false,
    network_type: network,
    signer_id: 's1',
    policies: { fee_payment_strategy: 'relayer', min_balance: 0, ...policies },
    ...(notificationId === undefined ? {} : { notification_id: notificationId }),
  };
  const config = {
    relayers: [relayer],
    signers: [{ id: 's1', type: 'local', config: { path, passphrase: { type: 'plain', value: 'pass' } } }],
    notifications,
    networks: [{ type: network, network: 'local', rpc_urls: rpcUrls, average_blocktime_ms: 400, is_testnet: true, ...networkFields }],
  };
  await writeFile(join(dir, 'config.json'), JSON.stringify(config));
  const publicKey = publicKeyOf(keyFromSeed(seed));
  return {
    dir,
    env: {
      CONFIG_DIR: dir,
      DATABASE_URL: `sqlite:${join(dir, 'relayer.db')}`,
      STORAGE_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      API_KEY: apiKey,
      APP_PORT: '0',
      WEBHOOK_ALLOW_PRIVATE: 'true',
      RATE_LIMIT_REQUESTS_PER_SECOND: '0',
      ...env,
    },
    relayerId: 'r1',
    address: network === 'solana' ? solanaAddressFrom(publicKey) : stellarAddressFrom(publicKey),
    privateKey: seed.toString('hex'),
    remove: () => rm(dir, { recursive: true, force: true }),
  };
}
