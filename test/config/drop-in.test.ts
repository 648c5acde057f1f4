import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import { loadConfiguration } from '../../src/cli/load-configuration.js';
import { defaultPolicies } from '../../src/core/records/relayer.js';
import { cheapKeystore, keystoreOfAnyNetwork } from '../support/cheap-keystore.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const passphrase = { type: 'env', value: 'KEYSTORE_PASSPHRASE' };

/** The files of a user of OpenZeppelin Relayer: one key for all networks, networks in a folder, every setting. */
async function theirFolder(): Promise<string> {
  const key = keystoreOfAnyNetwork(await cheapKeystore(Buffer.alloc(32, 7), 'hunter2'));
  const folder = await temporaryFolder({
    'keys/local-signer.json': key,
    'networks/ethereum.json': {
      networks: [
        {
          type: 'evm',
          network: 'mainnet',
          chain_id: 1,
          rpc_urls: [{ type: 'env', value: 'ETH_RPC_URL' }, { url: 'https://b.example.com', weight: 50 }, ' https://c.example.com'],
          explorer_urls: ['https://api.etherscan.io/api', 'https://etherscan.io'],
          average_blocktime_ms: 12000,
          is_testnet: false,
          required_confirmations: 12,
          features: ['eip1559'],
          symbol: 'ETH',
          tags: [],
          gas_price_cache: { enabled: false, stale_after_ms: 20000, expire_after_ms: 45000 },
        },
        {
          from: 'mainnet',
          type: 'evm',
          network: 'holesky',
          chain_id: 17000,
          rpc_urls: ['https://holesky.example.com'],
          required_confirmations: 6,
          is_testnet: true,
          tags: ['deprecated'],
        },
      ],
    },
    'networks/local-anvil.json': {
      networks: [
        {
          type: 'evm',
          network: 'localhost-anvil',
          chain_id: 31337,
          rpc_urls: ['http://localhost:8545'],
          average_blocktime_ms: 1000,
          required_confirmations: 1,
          symbol: 'ETH',
          features: [],
        },
      ],
    },
    'networks/stellar.json': {
      networks: [
        {
          type: 'stellar',
          network: 'mainnet',
          rpc_urls: ['https://stellar.example.com'],
          explorer_urls: ['https://stellar.expert/explorer/public'],
          average_blocktime_ms: 5000,
          is_testnet: false,
          passphrase: 'Public Global Stellar Network ; September 2015',
          horizon_url: 'https://horizon.example.com',
        },
      ],
    },
    'networks/solana.json': {
      networks: [
        {
          type: 'solana',
          network: 'devnet',
          rpc_urls: ['https://solana.example.com'],
          average_blocktime_ms: 400,
          is_testnet: true,
          tags: ['x'],
        },
      ],
    },
  });
  return temporaryFolder({
    'config.json': {
      relayers: [
        {
          id: 'mainnet-example',
          name: 'Mainnet example',
          network: 'mainnet',
          paused: false,
          notification_id: 'notification-example',
          signer_id: 'local-signer',
          network_type: 'evm',
          custom_rpc_urls: ['https://one.example.com', { url: 'https://two.example.com', weight: 80 }],
          policies: {
            min_balance: 1000000000000000000,
            gas_price_cap: '500000000000',
            whitelist_receivers: ['0x70997970C51812dc3A010C7d01b50e0d17dc79C8'],
            eip1559_pricing: true,
            gas_limit_estimation: true,
            private_transactions: false,
            include_revert_data: true,
          },
        },
        {
          id: 'holesky',
          name: 'Holesky',
          network: 'holesky',
          paused: true,
          signer_id: 'local-signer',
          network_type: 'evm',
          policies: null,
        },
        { id: 'anvil', name: 'Anvil', network: 'localhost-anvil', paused: false, signer_id: 'local-signer', network_type: 'evm' },
        {
          id: 'stellar-example',
          name: 'Stellar example',
          network: 'mainnet',
          paused: false,
          signer_id: 'local-signer',
          network_type: 'stellar',
          policies: {
            fee_payment_strategy: 'relayer',
            min_balance: 0,
            max_fee: 1000000,
            concurrent_transactions: false,
            allowed_tokens: [],
          },
        },
        {
          id: 'solana-example',
          name: 'Solana example',
          network: 'devnet',
          paused: false,
          signer_id: 'local-signer',
          network_type: 'solana',
          custom_rpc_urls: [{ url: 'https://devnet.example.com' }],
          policies: {
            fee_payment_strategy: 'relayer',
            min_balance: 0,
            max_signatures: 2,
            max_tx_data_size: 1232,
            allowed_programs: ['11111111111111111111111111111111'],
            disallowed_accounts: [],
            allowed_tokens: null,
            swap_config: null,
          },
        },
      ],
      notifications: [
        {
          id: 'notification-example',
          type: 'webhook',
          url: 'https://hooks.example.com/relayer',
          signing_key: { type: 'env', value: 'WEBHOOK_SIGNING_KEY' },
        },
      ],
      signers: [{ id: 'local-signer', type: 'local', config: { path: join(folder, 'keys/local-signer.json'), passphrase } }],
      networks: join(folder, 'networks'),
      plugins: [],
    },
  });
}

it('config file: loads the files and variables of OpenZeppelin Relayer unchanged', async () => {
  const { settings, config } = await loadConfiguration({
    API_KEY: 'their-api-key-of-32-characters-or-more',
    STORAGE_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
    CONFIG_DIR: await theirFolder(),
    CONFIG_FILE_NAME: 'config.json',
    KEYSTORE_PASSPHRASE: 'hunter2',
    WEBHOOK_SIGNING_KEY: 'their-signing-key-of-32-characters',
    ETH_RPC_URL: 'https://a.example.com/v3/key',
    HOST: '0.0.0.0',
    APP_PORT: '8080',
    RATE_LIMIT_REQUESTS_PER_SECOND: '100',
    RPC_TIMEOUT_MS: '10000',
    TRANSACTION_EXPIRATION_HOURS: '4',
    REPOSITORY_STORAGE_TYPE: 'in_memory',
    REDIS_URL: 'redis://localhost:6379',
    METRICS_PORT: '8081',
    LOG_LEVEL: 'info',
    LOG_MODE: 'stdout',
  });
  assert.equal(settings.transactionExpirationHours, 4);
  assert.deepEqual(
    settings.notices.map((notice) => notice.split(' ')[0]),
    ['REDIS_URL'],
  );
  const [horizon, keystore, ...others] = config.notices;
  assert.match(horizon ?? '', /horizon_url has no effect/);
  assert.match(keystore ?? '', /^the keystore .* can be read by other users/);
  assert.deepEqual(others, []);
  assert.deepEqual(
    config.relayers.map(({ id, network, paused }) => [id, network.type, network.name, network.rpcUrls.map(({ url }) => url)[0], paused]),
    [
      ['mainnet-example', 'evm', 'mainnet', 'https://a.example.com/v3/key', false],
      ['holesky', 'evm', 'holesky', 'https://holesky.example.com', true],
      ['anvil', 'evm', 'localhost-anvil', 'http://localhost:8545', false],
      ['stellar-example', 'stellar', 'mainnet', 'https://stellar.example.com', false],
      ['solana-example', 'solana', 'devnet', 'https://solana.example.com', false],
    ],
  );
  const [mainnet, holesky, , stellar, solana] = config.relayers;
  assert.deepEqual(mainnet?.customRpcUrls, [
    { url: 'https://one.example.com', weight: 100 },
    { url: 'https://two.example.com', weight: 80 },
  ]);
  assert.deepEqual(mainnet.policies, {
    network: 'evm',
    minBalanceWei: 10n ** 18n,
    gasPriceCapWei: 500_000_000_000n,
    rules: null,
    signing: null,
    whitelistReceivers: ['0x70997970c51812dc3a010c7d01b50e0d17dc79c8'],
    eip1559Pricing: true,
    gasLimitEstimation: true,
    includeRevertData: true,
    allowTransactionSigning: false,
    maxInFlight: null,
  });
  assert.ok(holesky?.network.type === 'evm');
  assert.deepEqual([holesky.network.chainId, holesky.network.eip1559, holesky.network.symbol], [17000n, true, 'ETH']);
  assert.deepEqual(stellar?.policies, { ...defaultPolicies.stellar, minBalanceStroops: 0n, maxFeeStroops: 1_000_000n });
  assert.deepEqual(solana?.customRpcUrls, [{ url: 'https://devnet.example.com', weight: 100 }]);
  assert.deepEqual(config.notifications, [
    { id: 'notification-example', url: 'https://hooks.example.com/relayer', signingKey: 'their-signing-key-of-32-characters' },
  ]);
});
