import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encryptKeystoreJsonSync, hexlify, Wallet } from 'ethers';
import { apiKey, type ServiceHome } from '../test/support/service.js';

/** Opens at once: these keys protect nothing, and their decryption is not measured. */
const scrypt = { N: 2, r: 8, p: 1 };

/** A home of many relayers, `r1` and so on. */
export interface LanesHome extends ServiceHome {
  /** The accounts of the relayers, in their order. */
  readonly addresses: readonly string[];
}

/** Makes a home with this many EVM relayers on one network, each with a key of its own. */
export async function createLanesHome(rpcUrl: string, lanes: number): Promise<LanesHome> {
  const dir = await mkdtemp(join(tmpdir(), 'relayer-lanes-'));
  const ids = Array.from({ length: lanes }, (_, index) => `r${index + 1}`);
  const addresses: string[] = [];
  let firstKey = '';
  for (const id of ids) {
    // A wallet from a mnemonic takes twenty times as long.
    const { address, privateKey } = new Wallet(hexlify(randomBytes(32)));
    addresses.push(address);
    if (firstKey === '') firstKey = privateKey;
    await writeFile(join(dir, `${id}.json`), encryptKeystoreJsonSync({ address, privateKey }, 'pass', { scrypt }), { mode: 0o600 });
  }
  const config = {
    relayers: ids.map((id) => ({
      id,
      name: id,
      network: 'local',
      paused: false,
      network_type: 'evm',
      signer_id: id,
      // Under a cap, so that no fee bump follows the market that the benchmark itself makes.
      policies: { min_balance: 0, max_in_flight: 50_000, gas_price_cap: '100000000000' },
    })),
    signers: ids.map((id) => ({
      id,
      type: 'local',
      config: { path: join(dir, `${id}.json`), passphrase: { type: 'plain', value: 'pass' } },
    })),
    notifications: [],
    networks: [
      {
        type: 'evm',
        network: 'local',
        rpc_urls: [rpcUrl],
        chain_id: 31337,
        required_confirmations: 1,
        average_blocktime_ms: 1000,
        features: ['eip1559'],
        symbol: 'ETH',
        is_testnet: true,
      },
    ],
  };
  await writeFile(join(dir, 'config.json'), JSON.stringify(config));
  return {
    dir,
    env: {
      CONFIG_DIR: dir,
      DATABASE_URL: `sqlite:${join(dir, 'relayer.db')}`,
      STORAGE_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      API_KEY: apiKey,
      APP_PORT: '0',
      RATE_LIMIT_REQUESTS_PER_SECOND: '0',
      LOG_LEVEL: 'info',
    },
    relayerId: ids[0] ?? '',
    address: addresses[0] ?? '',
    addresses,
    privateKey: firstKey.slice(2),
    remove: () => rm(dir, { recursive: true, force: true }),
  };
}
