import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { hostedTypes } from '../../src/codec/signer-values.js';
import { type LoadedConfig, loadConfig } from '../../src/config/config-file.js';
import { ConfigError } from '../../src/config/problem.js';
import type { ReadKeystore } from '../../src/config/signer-entries.js';
import { onNetwork } from '../../src/core/records/on-network.js';
import type { EvmPolicies } from '../../src/core/records/relayer.js';
import {
  anyKeystore,
  keystoreFor,
  sampleConfig,
  sampleEnv,
  sampleNetwork,
  sampleNotification,
  sampleRelayer,
  sampleSigner,
} from '../support/sample-config.js';
import { temporaryFolder } from '../support/temporary-folder.js';

type Env = Readonly<Record<string, string>>;

async function load(content: unknown, env: Env = sampleEnv, readKeystore: ReadKeystore = anyKeystore): Promise<LoadedConfig> {
  return loadConfig({
    dir: await temporaryFolder({ 'config.json': content }),
    fileName: 'config.json',
    env,
    readKeystore,
  });
}

/** The policies of the first relayer. */
function evmPolicies({ relayers: [relayer] }: LoadedConfig): EvmPolicies | undefined {
  return relayer === undefined ? undefined : onNetwork('evm', relayer.policies);
}

/** The problems of a file as the command prints them. */
async function problemsOf(content: unknown, env: Env = sampleEnv): Promise<readonly string[]> {
  try {
    await load(content, env);
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.problems.map(({ path, problem }) => `${path}: ${problem}`);
  }
}

test('config file: fills in defaults', async () => {
  const keystore = keystoreFor(['secp256k1']);
  const { digests, revision, ...config } = await load(sampleConfig(), sampleEnv, (path) =>
    path === 'keys/key.json' ? keystore : { problem: `is not asked for: ${path}` },
  );
  assert.deepEqual([[...digests.keys()], revision], [['config.json'], 0]);
  const network = {
    name: 'anvil',
    type: 'evm',
    chainId: 31337n,
    rpcUrls: [{ url: 'http://127.0.0.1:8545', weight: 100 }],
    requiredConfirmations: 1,
    averageBlockTimeMs: 1000,
    eip1559: false,
    symbol: 'ETH',
    isTestnet: false,
    tags: [],
    explorerUrls: [],
  };
  const { networks, ...rest } = config;
  assert.deepEqual(networks[0], network);
  assert.deepEqual(rest, {
    relayers: [
      {
        id: 'relayer-1',
        name: 'Relayer one',
        network,
        networkType: 'evm',
        paused: false,
        signerId: 'key',
        notificationId: null,
        customRpcUrls: [],
        policiesVersion: 1,
        policiesLocked: false,
        policies: {
          network: 'evm',
          minBalanceWei: 1n,
          gasPriceCapWei: null,
          rules: null,
          signing: null,
          whitelistReceivers: null,
          eip1559Pricing: true,
          gasLimitEstimation: true,
          includeRevertData: false,
          allowTransactionSigning: false,
          maxInFlight: null,
        },
      },
    ],
    signers: [{ id: 'key', keystore, passphrase: 'correct horse' }],
    notifications: [{ id: 'hook', url: 'https://hooks.example.com/x', signingKey: null }],
    plugins: [],
    notices: [],
  });
});

test('config file: values replace the defaults', async () => {
  const receiver = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
  const config = await load(
    sampleConfig({
      networks: [
        sampleNetwork({
          features: ['eip1559'],
          is_testnet: true,
          tags: ['rollup'],
          rpc_urls: [{ url: ' https://a.example.com', weight: 0 }, 'https://b.example.com'],
        }),
      ],
      notifications: [sampleNotification({ signing_key: { type: 'env', value: 'HOOK_KEY' } })],
      relayers: [
        sampleRelayer({
          notification_id: 'hook',
          custom_rpc_urls: [{ url: 'https://c.example.com', headers: [{ name: 'X-Key', value: { type: 'env', value: 'HOOK_KEY' } }] }],
          policies: {
            min_balance: 0,
            gas_price_cap: '100000000000',
            whitelist_receivers: [receiver],
            eip1559_pricing: false,
            private_transactions: false,
          },
        }),
      ],
    }),
  );
  const network = config.networks[0];
  assert.equal(network?.type === 'evm' && network.eip1559, true);
  assert.deepEqual(config.networks[0]?.rpcUrls, [
    { url: 'https://a.example.com', weight: 0 },
    { url: 'https://b.example.com', weight: 100 },
  ]);
  const relayer = config.relayers[0];
  assert.equal(relayer?.notificationId, 'hook');
  assert.deepEqual(relayer?.customRpcUrls, [
    { url: 'https://c.example.com', weight: 100, headers: [{ name: 'X-Key', value: 'a signing key' }] },
  ]);
  const policies = evmPolicies(config);
  assert.equal(policies?.minBalanceWei, 0n);
  assert.equal(policies?.gasPriceCapWei, 100_000_000_000n);
  assert.deepEqual(policies?.whitelistReceivers, [receiver.toLowerCase()]);
  assert.equal(policies?.eip1559Pricing, false);
  assert.equal(config.notifications[0]?.signingKey, 'a signing key');
});

test('config file: reads amounts above 2^53 exactly, as numbers and as strings', async () => {
  const text = JSON.stringify(
    sampleConfig({
      relayers: [sampleRelayer({ policies: { min_balance: 'NUMBER', gas_price_cap: '340282366920938463463374607431768211455' } })],
    }),
  );
  const config = await load(text.replace('"NUMBER"', '1000000000000000000001'));
  assert.equal(evmPolicies(config)?.minBalanceWei, 1_000_000_000_000_000_000_001n);
  assert.equal(evmPolicies(config)?.gasPriceCapWei, 2n ** 128n - 1n);
});

test('config file: rejects a value that is not an amount and names its path', async () => {
  for (const wrong of [-1, 1.5, '', '0x', '1e18', '+1', ' 1', true, {}, '340282366920938463463374607431768211456']) {
    assert.deepEqual(await problemsOf(sampleConfig({ relayers: [sampleRelayer({ policies: { min_balance: wrong } })] })), [
      'relayers[0].policies.min_balance: must be an integer from 0 to 2^128-1 (340282366920938463463374607431768211455)',
    ]);
  }
  assert.deepEqual(await problemsOf(sampleConfig({ relayers: [sampleRelayer({ policies: { gas_price_cap: 0 } })] })), [
    'relayers[0].policies.gas_price_cap: must be at least 1; leave it out for no cap',
  ]);
});

test('config file: reports every problem of every section at once, with its path', async () => {
  const problems = await problemsOf(
    {
      relayer: [],
      plugins: [{ id: 'p', url: 'ws://127.0.0.1:1', timeout_seconds: 901 }, { id: 'p', path: 'p.ts' }, {}],
      networks: [
        sampleNetwork({
          chain_id: 0,
          rpc_urls: [
            'ftp://a.example.com',
            {
              url: 'https://c.example.com',
              headers: [
                { name: 'X-Key', value: { type: 'env', value: 'NOT_SET' } },
                { name: 'Host', value: 'a' },
              ],
            },
            { url: 'https://b.example.com', weigth: 1, weight: 101 },
          ],
          average_blocktime_ms: 0,
          symbol: '',
        }),
        sampleNetwork({ network: 'bare', chain_id: undefined, rpc_urls: [], required_confirmations: 0 }),
        sampleNetwork({ network: 'cached', gas_price_cache: { enabled: true, stale_after_ms: 1 } }),
        sampleNetwork({ type: 'evn', network: 'typo' }),
      ],
      signers: [
        sampleSigner({ config: { path: '', passphrase: { type: 'command', value: 'x' } } }),
        sampleSigner({ id: 'kms', type: 'trezor', config: { whatever: 1 } }),
        sampleSigner({ id: 'no spaces' }),
        sampleSigner({ id: 'unset', config: { path: 'a', passphrase: { type: 'env', value: 'NOT_SET' } } }),
      ],
      notifications: [
        sampleNotification({ url: '', signing_key: { type: 'plain', value: 'whsec_short' } }),
        sampleNotification({ id: 'private', url: 'http://10.0.0.1/' }),
        sampleNotification({ id: 'typed', type: 'email' }),
      ],
      relayers: [
        sampleRelayer({
          paused: undefined,
          signer_id: 'kez',
          notification_id: 'nobody',
          network: 'other',
          policies: { gas_price_cpa: 1, private_transactions: true, whitelist_receivers: ['0x12'] },
        }),
        sampleRelayer({ id: 'typed', network_type: 'evn' }),
        sampleRelayer({ network: 'cached' }),
        'a text',
      ],
    },
    sampleEnv,
  );
  assert.deepEqual(
    new Set(problems),
    new Set([
      'relayer: is not a known section; did you mean `relayers`?',
      'plugins[0].timeout_seconds: must be an integer from 1 to 900',
      'plugins[0].url: must be a URL that begins with http:// or https://',
      'plugins[1].id: "p" is already used by plugins[0]',
      'plugins[1].path: is not supported: plugins do not run in the service; run the code in a process of your own, and set url to its address',
      'plugins[2].id: is required',
      'plugins[2].url: is required',
      'networks[0].chain_id: must be an integer from 1 to 18446744073709551615',
      'networks[0].rpc_urls[0].url: must be a URL that begins with http://, https://, ws:// or wss://',
      'networks[0].rpc_urls[1].headers[0].value.value: names the environment variable NOT_SET, which is not set',
      'networks[0].rpc_urls[1].headers[1].name: is a header that only the service or a proxy sets',
      'networks[0].rpc_urls[2].weight: must be an integer from 0 to 100',
      'networks[0].rpc_urls[2].weigth: is not a known field; did you mean `weight`?',
      'networks[0].average_blocktime_ms: must be an integer from 1 to 4294967295',
      'networks[0].symbol: must not be empty',
      'networks[1].rpc_urls: must have at least one item',
      'networks[1].required_confirmations: must be an integer from 1 to 4294967295',
      'networks[3].type: must be one of evm, stellar, solana',
      'signers[0].config.path: must not be empty',
      'signers[0].config.passphrase.type: must be "env", "file" or "plain"',
      `signers[1].type: signers of type "trezor" are not supported; supported types: local, ${hostedTypes.join(', ')}`,
      'signers[2].id: must be 1 to 36 characters from A-Z, a-z, 0-9, _ and -',
      'signers[3].config.passphrase.value: names the environment variable NOT_SET, which is not set',
      'notifications[0].url: is required',
      'notifications[1].url: must not point to a private, loopback, link-local, metadata or otherwise reserved host',
      'notifications[2].type: must be one of webhook',
      'relayers[0].signer_id: no signer has the id "kez"; did you mean "key"?',
      'relayers[0].notification_id: no notification has the id "nobody"',
      'relayers[0].network: no evm network has the name "other"',
      'relayers[0].policies.gas_price_cpa: is not a known field; did you mean `gas_price_cap`?',
      'relayers[0].policies.private_transactions: must be false: private transactions are not supported',
      'relayers[0].policies.whitelist_receivers[0]: must be 0x and 40 hex digits',
      'relayers[1].network_type: must be one of evm, stellar, solana',
      'relayers[2].id: "relayer-1" is already used by relayers[0]',
      'relayers[3]: must be an object',
    ]),
  );
});

test('config file: names missing fields', async () => {
  assert.deepEqual(await problemsOf({ networks: [{ type: 'evm', network: 'a' }], signers: [{ id: 'k', type: 'local' }], relayers: [{}] }), [
    'networks[0].chain_id: is required',
    'networks[0].rpc_urls: is required',
    'networks[0].required_confirmations: is required',
    'networks[0].average_blocktime_ms: is required',
    'networks[0].symbol: is required',
    'signers[0].config: is required',
    ...['id', 'name', 'network', 'network_type', 'signer_id'].map((name) => `relayers[0].${name}: is required`),
  ]);
  assert.deepEqual(await problemsOf({ networks: [sampleNetwork()] }), ['relayers: is required']);
});

test('config file: rejects a section that is not a list, and a file that is not an object', async () => {
  assert.deepEqual(await problemsOf({ networks: { anvil: {} }, relayers: 1, signers: null, notifications: 'x' }), [
    'networks: must be an array',
    'notifications: must be an array',
    'relayers: must be an array',
  ]);
  for (const text of ['[]', '1', 'null', '"x"']) {
    const problems = await problemsOf(text);
    assert.equal(problems.length, 1);
    assert.match(problems[0] ?? '', /config\.json: must be a JSON object$/);
  }
});

test('config file: rejects duplicate ids, and one signer twice on a chain', async () => {
  const problems = await problemsOf(
    sampleConfig({
      networks: [sampleNetwork(), sampleNetwork(), sampleNetwork({ network: 'anvil-docker' })],
      signers: [sampleSigner(), sampleSigner()],
      notifications: [sampleNotification(), sampleNotification()],
      relayers: [sampleRelayer(), sampleRelayer({ id: 'relayer-2', network: 'anvil-docker' })],
    }),
  );
  assert.deepEqual(problems, [
    'networks[1].network: "anvil" is already used by networks[0]',
    'signers[1].id: "key" is already used by signers[0]',
    'notifications[1].id: "hook" is already used by notifications[0]',
    'relayers[1].signer_id: is already used on the same chain by relayers[0]; an account can have only one relayer',
  ]);
});

test('config file: does not report a reference to an entry that is itself wrong', async () => {
  assert.deepEqual(await problemsOf(sampleConfig({ networks: [sampleNetwork({ symbol: 1 })], signers: [sampleSigner({ extra: 1 })] })), [
    'networks[0].symbol: must be a string',
    'signers[0].extra: is not a known field',
  ]);
});

test('config file: never shows a secret in a problem', async () => {
  const secret = 'hunter2-hunter2';
  const texts = await problemsOf(
    sampleConfig({
      networks: [sampleNetwork({ rpc_urls: [`ftp://rpc.example.com/${secret}`] })],
      signers: [
        sampleSigner({ config: { path: 'a', passphrase: { type: 'env', value: secret } } }),
        sampleSigner({ id: 'b', config: { path: 'a', passphrase: secret } }),
      ],
      notifications: [
        sampleNotification({ url: `https://user:${secret}@hooks.example.com`, signing_key: { type: 'plain', value: `whsec_${secret}` } }),
        sampleNotification({ id: 'b', signing_key: { type: 'plan', value: secret } }),
      ],
    }),
  );
  assert.equal(texts.length, 5, texts.join('\n'));
  assert.ok(!texts.join('\n').includes('hunter2'), texts.join('\n'));
});

test('config file: accepts private webhook targets if the settings allow them', async () => {
  const file = sampleConfig({ notifications: [sampleNotification({ url: 'http://127.0.0.1:9000/hook' })] });
  assert.deepEqual(await problemsOf(file, { ...sampleEnv, WEBHOOK_ALLOW_PRIVATE: 'true' }), []);
});

test('config file: reports a missing file and one that is not JSON', async () => {
  const dir = await temporaryFolder({ 'broken.json': '{"relayers": [\n  {"id": "a",}\n]}' });
  await assert.rejects(loadConfig({ dir, fileName: 'config.json', env: {}, readKeystore: anyKeystore }), {
    problems: [{ path: join(dir, 'config.json'), problem: 'does not exist' }],
  });
  await assert.rejects(loadConfig({ dir, fileName: 'broken.json', env: {}, readKeystore: anyKeystore }), {
    problems: [{ path: join(dir, 'broken.json'), problem: 'is not valid JSON: expected a name in double quotes at line 2, column 14' }],
  });
  await assert.rejects(loadConfig({ dir, fileName: '.', env: {}, readKeystore: anyKeystore }), {
    problems: [{ path: dir, problem: 'is a folder' }],
  });
});

test('config: locks the policies of a relayer, which the API cannot, and takes nothing but true and false', async () => {
  const lockOf = async (value: unknown) =>
    (await load(sampleConfig({ relayers: [sampleRelayer({ policies_locked: value })] }))).relayers[0]?.policiesLocked;
  assert.deepEqual([await lockOf(true), await lockOf(false), await lockOf(undefined)], [true, false, false]);
  assert.deepEqual(await problemsOf(sampleConfig({ relayers: [sampleRelayer({ policies_locked: 'yes' })] })), [
    'relayers[0].policies_locked: must be true or false',
  ]);
});
