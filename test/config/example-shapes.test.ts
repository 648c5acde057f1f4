import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { loadConfiguration } from '../../src/cli/load-configuration.js';
import type { Environment } from '../../src/config/environment.js';
import { ConfigError } from '../../src/config/problem.js';
import { cheapKeystore, keystoreOfAnyNetwork } from '../support/cheap-keystore.js';
import { temporaryFolder } from '../support/temporary-folder.js';

/*
 * The shapes of the configurations that OpenZeppelin Relayer publishes as its examples, by the names of the examples: each loads, at most with
 * notices, except for plugins whose code would run in the service, and fees that users pay. Those are reported with a way forward. `test/e2e/cloud-sends.test.ts` sends with each hosted signer.
 */

interface Shape {
  /** The configuration file, with `KEYS` for the folder of the keystores and `NETWORKS` for the folder of the networks. */
  readonly config: object;
  /** Files of the folder of the networks; absent: a file with a network that no relayer uses. */
  readonly networks?: Readonly<Record<string, object>>;
  readonly env?: Environment;
  /** By path; empty: it loads. */
  readonly problems?: Readonly<Record<string, RegExp>>;
  readonly notices?: readonly RegExp[];
}

const passphrase = { type: 'env', value: 'KEYSTORE_PASSPHRASE' };
const secret = (value: string) => ({ type: 'env', value });
const localSigner = { id: 'local-signer', type: 'local', config: { path: 'KEYS/local-signer.json', passphrase } };
const notification = {
  id: 'notification-example',
  type: 'webhook',
  url: 'https://hooks.example.com/relayer',
  signing_key: secret('WEBHOOK_SIGNING_KEY'),
};

function relayer(network_type: string, network: string, parts: object = {}): object {
  const policies = network_type === 'evm' ? { min_balance: 0 } : { min_balance: 0, fee_payment_strategy: 'relayer' };
  return { id: `${network}-example`, name: 'Example', network, paused: false, signer_id: 'local-signer', network_type, policies, ...parts };
}

const sepolia = relayer('evm', 'sepolia', { notification_id: 'notification-example' });
const testnet = relayer('stellar', 'testnet');

function file(relayers: readonly object[], parts: object = {}): object {
  return { relayers, notifications: [notification], signers: [localSigner], networks: 'NETWORKS', plugins: [], ...parts };
}

const noPath = { 'plugins[0].path': /^is not supported: plugins do not run in the service; run the code in a process/ };
/** What a plugin with a process of its own says about the members that it does not need. */
const pluginNotices = [/emit_logs has no effect/, /emit_traces has no effect/];

/** The same plugin, served by a process of the operator. */
function served(id: string, parts: object = {}): object {
  return { ...plugin(id, parts), path: undefined, url: 'http://127.0.0.1:9000' };
}

function plugin(id: string, parts: object = {}): object {
  return { id, path: `${id}/index.ts`, timeout: 30, emit_logs: true, emit_traces: true, ...parts };
}

/** A configuration with a hosted signer. */
function hosted(type: string, network_type: string, network: string, config: object): Shape {
  const signer = { id: 'hosted', type, config };
  return { config: file([relayer(network_type, network, { signer_id: 'hosted' })], { signers: [signer] }) };
}

const aws = { region: 'us-west-2', key_id: 'alias/relayer' };
const google = {
  service_account: {
    project_id: 'project',
    private_key_id: secret('GCP_PRIVATE_KEY_ID'),
    private_key: secret('GCP_PRIVATE_KEY'),
    client_email: secret('GCP_CLIENT_EMAIL'),
    client_id: '1',
  },
  key: { location: 'us-west2', key_ring_id: 'ring', key_id: 'key', key_version: 1 },
};
const azure = {
  auth_type: 'client_secret',
  tenant_id: secret('AZURE_TENANT_ID'),
  client_id: secret('AZURE_CLIENT_ID'),
  client_secret: secret('AZURE_CLIENT_SECRET'),
  vault_url: 'https://name.vault.azure.net',
  key_name: 'key',
  key_version: null,
};
const turnkey = {
  api_public_key: `02${'01'.repeat(32)}`,
  api_private_key: secret('TURNKEY_API_PRIVATE_KEY'),
  organization_id: 'organization',
  private_key_id: 'key',
  public_key: `02${'79'.repeat(32)}`,
};
const cdp = { api_key_id: 'id', api_key_secret: secret('CDP_API_KEY_SECRET'), wallet_secret: secret('CDP_WALLET_SECRET') };
const vault = { address: 'http://vault:8200', role_id: secret('VAULT_ROLE_ID'), secret_id: secret('VAULT_SECRET_ID'), key_name: 'my-app' };

const evmNetwork = {
  type: 'evm',
  network: 'sepolia-base',
  chain_id: 11155111,
  required_confirmations: 6,
  symbol: 'ETH',
  features: ['eip1559'],
  rpc_urls: ['https://a.example.com', 'https://b.example.com'],
  explorer_urls: ['https://api-sepolia.etherscan.io/api', 'https://sepolia.etherscan.io'],
  average_blocktime_ms: 12000,
  is_testnet: true,
  tags: ['ethereum', 'testnet'],
};
const queue = [/^QUEUE_BACKEND has no effect/];

const shapes: Readonly<Record<string, Shape>> = {
  'aws-sqs-queue-storage': {
    config: file([sepolia, testnet]),
    env: { QUEUE_BACKEND: 'sqs', DISTRIBUTED_MODE: 'false', SQS_QUEUE_URL_PREFIX: 'http://sqs:4566/relayer-', AWS_REGION: 'us-east-1' },
    notices: [...queue, /^SQS_QUEUE_URL_PREFIX has no effect/],
  },
  'basic-example': { config: file([sepolia]), env: { RATE_LIMIT_REQUESTS_PER_SECOND: '10', RATE_LIMIT_BURST: '50' } },
  'basic-example-logging': {
    config: file([sepolia]),
    env: { LOG_LEVEL: 'DEBUG', LOG_MODE: 'file', LOG_DATA_DIR: 'logs/', LOG_MAX_SIZE: '1073741824' },
    notices: [/^LOG_DATA_DIR has no effect/, /^LOG_MAX_SIZE has no effect/, /^LOG_MODE has no effect/],
  },
  'basic-example-metrics': {
    config: file([sepolia]),
    env: { METRICS_ENABLED: 'true', METRICS_PORT: '8081' },
  },
  'basic-example-plugin': { config: file([sepolia], { plugins: [plugin('example')] }), problems: noPath },
  'channels-plugin-example': { config: file([], { notifications: [], signers: [], plugins: [plugin('channels')] }), problems: noPath },
  'channels-x402-plugin-example': {
    config: file(
      [
        relayer('stellar', 'testnet', { id: 'fund', policies: { concurrent_transactions: true, fee_payment_strategy: 'relayer' } }),
        relayer('stellar', 'testnet', { id: 'channel-001', signer_id: 'channel', policies: { fee_payment_strategy: 'relayer' } }),
      ],
      {
        notifications: [],
        signers: [localSigner, { ...localSigner, id: 'channel', config: { path: 'KEYS/channel.json', passphrase } }],
        plugins: [plugin('channels')],
      },
    ),
    problems: noPath,
  },
  'env-rpc-urls': {
    config: file([relayer('evm', 'mainnet-private'), relayer('evm', 'sepolia-private', { notification_id: 'notification-example' })]),
    networks: {
      'custom.json': {
        networks: [
          { ...evmNetwork, network: 'mainnet-private', chain_id: 1, rpc_urls: [secret('ETH_MAINNET_RPC_URL'), 'https://eth.example.com'] },
          {
            ...evmNetwork,
            network: 'sepolia-private',
            rpc_urls: [secret('SEPOLIA_RPC_URL_PRIMARY')],
            explorer_urls: [secret('SEPOLIA_EXPLORER_API'), 'https://sepolia.etherscan.io'],
          },
          { type: 'solana', network: 'mainnet-private', rpc_urls: [secret('SOLANA_MAINNET_RPC_URL')], average_blocktime_ms: 400 },
          {
            type: 'stellar',
            network: 'mainnet-private',
            rpc_urls: [secret('SOLANA_MAINNET_RPC_URL')],
            average_blocktime_ms: 5000,
            passphrase: 'Public Global Stellar Network ; September 2015',
          },
        ],
      },
    },
    env: {
      ETH_MAINNET_RPC_URL: 'https://eth.example.com/v3/key',
      SEPOLIA_RPC_URL_PRIMARY: 'https://sepolia.example.com/v3/key',
      SEPOLIA_EXPLORER_API: 'https://explorer.example.com/api',
      SOLANA_MAINNET_RPC_URL: 'https://node.example.com',
    },
  },
  'evm-aws-kms-signer': hosted('aws_kms', 'evm', 'sepolia', aws),
  'evm-azure-key-vault-signer': hosted('azure_key_vault', 'evm', 'sepolia', azure),
  'evm-cdp-signer': hosted('cdp', 'evm', 'sepolia', { ...cdp, account_address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' }),
  'evm-gcp-kms-signer': hosted('google_cloud_kms', 'evm', 'sepolia', google),
  'evm-turnkey-signer': hosted('turnkey', 'evm', 'sepolia', turnkey),
  'gas-price-caching': {
    config: file([sepolia, relayer('evm', 'mainnet')]),
    networks: {
      'ethereum.json': {
        networks: [
          { ...evmNetwork, network: 'mainnet', chain_id: 1, gas_price_cache: { enabled: true, stale_after_ms: 1, expire_after_ms: 2 } },
          { ...evmNetwork, network: 'sepolia', gas_price_cache: { enabled: false } },
        ],
      },
    },
    notices: [/ networks\[0\]\.gas_price_cache has no effect/],
  },
  'gcp-pubsub-queue-storage': {
    config: file([sepolia, testnet]),
    env: { QUEUE_BACKEND: 'pubsub', PUBSUB_PROJECT_ID: 'local' },
    notices: [/^PUBSUB_PROJECT_ID has no effect/, ...queue],
  },
  'horizontal-scaling': {
    config: file([sepolia]),
    env: {
      REPOSITORY_STORAGE_TYPE: 'redis',
      REDIS_KEY_PREFIX: 'shared',
      RESET_STORAGE_ON_START: 'false',
      RUST_LOG: 'debug',
      RPC_TIMEOUT_MS: '5000',
      PROVIDER_MAX_RETRIES: '3',
    },
    notices: [/^PROVIDER_MAX_RETRIES /, /^REDIS_KEY_PREFIX /, /^REPOSITORY_STORAGE_TYPE /, /^RUST_LOG has no effect: use LOG_LEVEL/],
  },
  'launchtube-plugin-example': {
    config: file([], { notifications: [], signers: [], plugins: [plugin('launchtube-plugin')] }),
    problems: noPath,
  },
  'multi-threaded-runtime': {
    config: file([relayer('evm', 'localhost-anvil')]),
    networks: {
      'anvil.json': { networks: [{ ...evmNetwork, network: 'localhost-anvil', chain_id: 31337, rpc_urls: ['http://anvil:8545'] }] },
    },
    env: { QUEUE_BACKEND: 'redis', TOKIO_WORKER_THREADS: '4', ACTIX_WORKERS: '2', LOG_FORMAT: 'json', METRICS_ENABLED: 'true' },
    notices: [/^ACTIX_WORKERS /, /^LOG_FORMAT /, /^TOKIO_WORKER_THREADS /],
  },
  'multi-threaded-stellar': {
    config: file([relayer('stellar', 'testnet', { policies: { concurrent_transactions: true, fee_payment_strategy: 'relayer' } })]),
    notices: [/^relayers\[0\]\.policies\.concurrent_transactions has no effect: /],
  },
  'network-configuration-config-file': { config: file([relayer('evm', 'sepolia-base')], { networks: [evmNetwork] }) },
  'network-configuration-inheritance': {
    config: file([relayer('evm', 'sepolia-base'), relayer('evm', 'sepolia-custom')], {
      networks: [
        evmNetwork,
        {
          from: 'sepolia-base',
          type: 'evm',
          network: 'sepolia-custom',
          chain_id: 343434324,
          required_confirmations: 3,
          rpc_urls: ['https://c.example.com'],
          symbol: 'ETH',
          tags: ['custom'],
        },
      ],
    }),
  },
  'network-configuration-json-file': {
    config: file([sepolia]),
    networks: { 'sepolia.json': { networks: [{ ...evmNetwork, network: 'sepolia' }] } },
  },
  'rabbitmq-queue-storage': {
    config: file([sepolia, testnet]),
    env: { QUEUE_BACKEND: 'rabbitmq', RABBITMQ_URL: 'amqp://queue' },
    notices: [...queue, /^RABBITMQ_URL has no effect/],
  },
  'redis-storage': {
    config: file([sepolia]),
    env: { REPOSITORY_STORAGE_TYPE: 'redis', REDIS_CONNECTION_TIMEOUT_MS: '10000' },
    notices: [/^REDIS_CONNECTION_TIMEOUT_MS /, /^REPOSITORY_STORAGE_TYPE /],
  },
  'redis-tls': { config: file([sepolia]), env: { REDIS_URL: 'rediss://redis:6380', SSL_CERT_FILE: '/app/certs/ca.crt' } },
  'solana-aws-kms-signer': hosted('aws_kms', 'solana', 'devnet', aws),
  'solana-cdp-signer': hosted('cdp', 'solana', 'devnet', { ...cdp, account_address: '11111111111111111111111111111111' }),
  'solana-google-cloud-kms-signer': hosted('google_cloud_kms', 'solana', 'devnet', google),
  'solana-turnkey-signer': hosted('turnkey', 'solana', 'devnet', turnkey),
  'stellar-aws-kms-signer': hosted('aws_kms', 'stellar', 'testnet', aws),
  'stellar-gcp-kms-signer': hosted('google_cloud_kms', 'stellar', 'testnet', google),
  'stellar-turnkey-signer': hosted('turnkey', 'stellar', 'testnet', turnkey),
  'vault-secret-signer': hosted('vault', 'evm', 'sepolia', vault),
  'vault-transit-signer': hosted('vault_transit', 'solana', 'devnet', {
    ...vault,
    pubkey: Buffer.alloc(32, 7).toString('base64'),
    mount_point: 'transit',
  }),
  'basic-example-plugin with a process': { config: file([sepolia], { plugins: [served('example')] }), notices: pluginNotices },
  'channels-plugin-example with a process': {
    config: file([], { notifications: [], signers: [], plugins: [served('channels')] }),
    notices: pluginNotices,
  },
  'launchtube-plugin-example with a process': {
    config: file([], { notifications: [], signers: [], plugins: [served('launchtube-plugin')] }),
    notices: pluginNotices,
  },
  'x402-facilitator-plugin with a process': {
    config: file([testnet], { plugins: [served('x402-facilitator', { raw_response: true, config: { networks: [] } })] }),
    notices: [...pluginNotices, /config has no effect: the service has no such setting; give it to the process/],
  },
  'x402-facilitator-plugin': {
    config: file([testnet], { plugins: [plugin('x402-facilitator', { raw_response: true, config: { networks: [] } })] }),
    problems: noPath,
  },
  'the default file, whose Solana users pay': {
    config: file([
      sepolia,
      relayer('solana', 'devnet', {
        policies: { min_balance: 0, allowed_tokens: [{ mint: 'So11111111111111111111111111111111111111112' }] },
      }),
      relayer('solana', 'mainnet-beta', { policies: undefined }),
    ]),
    problems: {
      'relayers[1].policies.allowed_tokens': /^applies to fees that users pay in tokens, which are not supported; leave it out/,
      'relayers[1].policies.fee_payment_strategy': /^must be set to "relayer"/,
      'relayers[2].policies.fee_payment_strategy': /^must be set to "relayer"/,
    },
  },
};

/** Every example has these. */
const commonEnv = {
  API_KEY: 'their-api-key-of-32-characters-or-more',
  STORAGE_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
  KEYSTORE_PASSPHRASE: 'hunter2',
  WEBHOOK_SIGNING_KEY: 'their-signing-key-of-32-characters',
  REDIS_URL: 'redis://redis:6379',
  VAULT_ROLE_ID: 'role-id',
  VAULT_SECRET_ID: 'secret-id',
  GCP_PRIVATE_KEY_ID: 'private-key-id',
  GCP_PRIVATE_KEY: 'private-key',
  GCP_CLIENT_EMAIL: 'relayer@project.iam.gserviceaccount.com',
  TURNKEY_API_PRIVATE_KEY: '01'.repeat(32),
  AZURE_TENANT_ID: '11111111-2222-3333-4444-555555555555',
  AZURE_CLIENT_ID: '66666666-7777-8888-9999-000000000000',
  AZURE_CLIENT_SECRET: 'client-secret',
  CDP_API_KEY_SECRET: Buffer.alloc(64, 7).toString('base64'),
  CDP_WALLET_SECRET: Buffer.alloc(138, 7).toString('base64'),
};
const unusedNetwork = { 'unused.json': { networks: [{ ...evmNetwork, network: 'unused' }] } };

describe('a configuration of OpenZeppelin Relayer', async () => {
  const [first, second] = await Promise.all([7, 8].map((byte) => cheapKeystore(Buffer.alloc(32, byte), 'hunter2')));
  const keys = { 'local-signer.json': keystoreOfAnyNetwork(first ?? ''), 'channel.json': keystoreOfAnyNetwork(second ?? '') };

  for (const [name, { config, networks = unusedNetwork, env = {}, problems = {}, notices = [] }] of Object.entries(shapes)) {
    it(`shaped as ${name} ${Object.keys(problems).length === 0 ? 'loads' : 'is refused with a way forward'}`, async () => {
      const folder = await temporaryFolder(Object.fromEntries(Object.entries(keys).map(([file, json]) => [`keys/${file}`, json])));
      const networksFolder = await temporaryFolder(networks);
      const text = JSON.stringify(config)
        .replaceAll('KEYS/', join(folder, 'keys/'))
        .replaceAll('"NETWORKS"', JSON.stringify(networksFolder));
      const source = { CONFIG_DIR: await temporaryFolder({ 'config.json': text }), ...commonEnv, ...env };
      const result = await loadConfiguration(source).catch((error: unknown) => {
        assert.ok(error instanceof ConfigError, String(error));
        return error;
      });

      const found = result instanceof ConfigError ? result.problems : [];
      assert.deepEqual(found.map(({ path }) => path).sort(), Object.keys(problems).sort());
      for (const { path, problem } of found) assert.match(problem, problems[path] ?? assert.fail(path));
      if (result instanceof ConfigError) return;
      assert.equal(result.config.relayers.length, (config as { relayers: unknown[] }).relayers.length);
      const shown = [...result.settings.notices, ...result.config.notices].filter(
        (notice) => !/^REDIS_URL |can be read by other users/.test(notice),
      );
      assert.equal(shown.length, notices.length, shown.join('\n'));
      for (const notice of notices)
        assert.ok(
          shown.some((sentence) => notice.test(sentence)),
          `${notice}: ${shown.join('\n')}`,
        );
    });
  }
});
