import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { type LoadedConfig, loadConfig } from '../../src/config/config-file.js';
import { ConfigError } from '../../src/config/problem.js';
import type { Network } from '../../src/core/records/network.js';
import { anyKeystore, sampleConfig, sampleEnv, sampleNetwork, sampleRelayer } from '../support/sample-config.js';
import { temporaryFolder } from '../support/temporary-folder.js';

function load(dir: string): Promise<LoadedConfig> {
  return loadConfig({ dir, fileName: 'config.json', env: sampleEnv, readKeystore: anyKeystore });
}

async function loadNetworks(networks: readonly unknown[]): Promise<LoadedConfig> {
  return load(await temporaryFolder({ 'config.json': sampleConfig({ networks }) }));
}

async function problemsOf(networks: readonly unknown[]): Promise<readonly string[]> {
  const error: unknown = await loadNetworks(networks).then(
    () => assert.fail('it was taken'),
    (reason) => reason,
  );
  assert.ok(error instanceof ConfigError, String(error));
  return error.problems.map(({ path, problem }) => `${path}: ${problem}`);
}

/** The networks that the file itself defines. */
async function ownNetworks(networks: readonly unknown[]): Promise<readonly Network[]> {
  const dir = await temporaryFolder({ 'config.json': sampleConfig({ networks, relayers: [] }) });
  return (await load(dir)).networks.slice(0, networks.length);
}

test('networks: inherit the fields that they lack; tags and features are merged', async () => {
  const networks = await ownNetworks([
    { type: 'evm', network: 'anvil', from: 'middle', rpc_urls: ['http://127.0.0.1:1'], tags: ['own', 'base'] },
    { type: 'evm', network: 'middle', from: 'base', chain_id: 5, features: ['eip1559'] },
    sampleNetwork({ network: 'base', tags: ['base'], is_testnet: true, required_confirmations: 12 }),
  ]);
  const [anvil, middle, base] = networks;
  assert.deepEqual(anvil, {
    ...base,
    name: 'anvil',
    chainId: 5n,
    rpcUrls: [{ url: 'http://127.0.0.1:1', weight: 100 }],
    tags: ['base', 'own'],
    eip1559: true,
  });
  assert.equal(middle?.requiredConfirmations, 12);
  assert.ok(base?.type === 'evm' && !base.eip1559);
});

test('networks: Stellar and Solana have their own fields and default block times', async () => {
  const shared = { rpcUrls: [{ url: 'https://rpc.example.com', weight: 100 }], requiredConfirmations: 1, explorerUrls: [] };
  assert.deepEqual(
    await ownNetworks([
      { type: 'stellar', network: 'testnet', rpc_urls: ['https://rpc.example.com'], passphrase: 'Test SDF Network ; September 2015' },
      { type: 'stellar', network: 'standalone', from: 'testnet', passphrase: 'Standalone', average_blocktime_ms: 1000, is_testnet: true },
      { type: 'solana', network: 'testnet', rpc_urls: ['https://rpc.example.com'], tags: ['public'] },
    ]),
    [
      {
        ...shared,
        type: 'stellar',
        name: 'testnet',
        passphrase: 'Test SDF Network ; September 2015',
        averageBlockTimeMs: 5000,
        symbol: 'XLM',
        isTestnet: false,
        tags: [],
      },
      {
        ...shared,
        type: 'stellar',
        name: 'standalone',
        passphrase: 'Standalone',
        averageBlockTimeMs: 1000,
        symbol: 'XLM',
        isTestnet: true,
        tags: [],
      },
      { ...shared, type: 'solana', name: 'testnet', averageBlockTimeMs: 400, symbol: 'SOL', isTestnet: false, tags: ['public'] },
    ],
  );
});

test('networks: a name is unique within its type, and fields of another type are unknown', async () => {
  const rpc_urls = ['https://rpc.example.com'];
  assert.deepEqual(
    await problemsOf([
      { type: 'solana', network: 'a', rpc_urls, chain_id: 1 },
      { type: 'stellar', network: 'a', rpc_urls },
      { type: 'stellar', network: 'a', rpc_urls, passphrase: 'x', features: ['eip1559'] },
      { type: 'stellar', network: 'b', from: 'anvil', passphrase: 'x' },
      sampleNetwork({ passphrase: 'x' }),
      { network: 'untyped' },
    ]),
    [
      'networks[2].network: "a" is already used by networks[1]',
      'networks[0].chain_id: is not a known field',
      'networks[4].passphrase: is not a known field',
      'networks[5].type: is required',
      'networks[1].passphrase: is required',
      'networks[3].from: no stellar network has the name "anvil"',
    ],
  );
});

test('networks: read a URL from the environment if it is a reference', async () => {
  const url = 'https://rpc.example.com/secret';
  const networks = [
    sampleNetwork({
      rpc_urls: [
        { type: 'env', value: 'NODE_URL' },
        { url: { type: 'env', value: 'NODE_URL' }, weight: 5 },
        { type: 'plain', value: url },
      ],
      explorer_urls: [{ type: 'env', value: 'NODE_URL' }, 'https://explorer.example.com'],
    }),
  ];
  const dir = await temporaryFolder({ 'config.json': sampleConfig({ networks }) });
  const source = { dir, fileName: 'config.json', readKeystore: anyKeystore };
  const [network] = (await loadConfig({ ...source, env: { ...sampleEnv, NODE_URL: url } })).networks;
  assert.deepEqual(network?.rpcUrls, [
    { url, weight: 100 },
    { url, weight: 5 },
    { url, weight: 100 },
  ]);
  assert.deepEqual(network.explorerUrls, [url, 'https://explorer.example.com']);
  const { NODE_URL: _, ...bare } = { ...sampleEnv, NODE_URL: '' };
  await assert.rejects(loadConfig({ ...source, env: bare }), {
    problems: ['rpc_urls[0].value', 'rpc_urls[1].url.value', 'explorer_urls[0].value'].map((path) => ({
      path: `networks[0].${path}`,
      problem: 'names the environment variable NODE_URL, which is not set',
    })),
  });
  assert.deepEqual(
    await problemsOf([sampleNetwork({ rpc_urls: [{ type: 'command', value: 'x' }, 7, { type: 'plain', value: 'ftp://x' }] })]),
    [
      'networks[0].rpc_urls[0]: must be a URL, or {"type": "env", "value": "<name of the environment variable that holds it>"}',
      'networks[0].rpc_urls[1]: must be a URL, or {"type": "env", "value": "<name of the environment variable that holds it>"}',
      'networks[0].rpc_urls[2].url: must be a URL that begins with http://, https://, ws:// or wss://',
    ],
  );
});

test('networks: report settings that have no effect', async () => {
  const horizon_url = 'https://horizon.example.com';
  const { notices } = await loadNetworks([
    sampleNetwork(),
    { type: 'stellar', network: 'mine', rpc_urls: ['https://rpc.example.com'], passphrase: 'x', horizon_url },
  ]);
  assert.deepEqual(notices, ['networks[1].horizon_url has no effect: Horizon is never called']);
});

test('networks: reject inheritance from an unknown network, from itself, and in a circle', async () => {
  assert.deepEqual(
    await problemsOf([
      sampleNetwork({ from: 'ghost' }),
      { type: 'evm', network: 'self', from: 'self' },
      { type: 'evm', network: 'a', from: 'b' },
      { type: 'evm', network: 'b', from: 'a' },
      { type: 'evm', network: 'into', from: 'a' },
      sampleNetwork({ network: 'wrong', chain_id: 'one' }),
      { type: 'evm', network: 'child', from: 'wrong' },
    ]),
    [
      'networks[5].chain_id: must be an integer from 1 to 18446744073709551615',
      'networks[0].from: no evm network has the name "ghost"',
      'networks[1].from: inherits from itself; name another network',
      'networks[2].from: inherits from itself; name another network',
      'networks[3].from: inherits from itself; name another network',
    ],
  );
});

test('networks: read a large chain ID exactly', async () => {
  const file = JSON.stringify(sampleConfig()).replace('31337', '18446744073709551615');
  const { networks } = await load(await temporaryFolder({ 'config.json': file }));
  assert.equal(networks[0]?.type === 'evm' && networks[0].chainId, 2n ** 64n - 1n);
});

test('networks: come from a folder, by default next to the file, or from one file', async () => {
  const files = {
    'networks/local.json': { networks: [sampleNetwork()] },
    'networks/more.JSON': { networks: [{ type: 'evm', network: 'fork', from: 'anvil', chain_id: 2 }] },
    'networks/readme.txt': 'not read',
  };
  const names = async (dir: string, count: number) => (await load(dir)).networks.slice(0, count).map(({ name }) => name);
  for (const networks of [undefined, null, '']) {
    const dir = await temporaryFolder({ ...files, 'config.json': sampleConfig({ networks }) });
    assert.deepEqual(await names(dir, 2), ['anvil', 'fork']);
  }
  const elsewhere = await temporaryFolder(files);
  const folder = await temporaryFolder({ 'config.json': sampleConfig({ networks: join(elsewhere, 'networks') }) });
  assert.deepEqual(await names(folder, 2), ['anvil', 'fork']);
  const file = await temporaryFolder({ 'config.json': sampleConfig({ networks: join(elsewhere, 'networks/local.json') }) });
  assert.deepEqual(await names(file, 1), ['anvil']);
});

test('networks: each file that is read has a digest under its name, which does not depend on the folder of the configuration', async () => {
  const network = { networks: [sampleNetwork()] };
  const digestsOf = async (files: Readonly<Record<string, unknown>>) => (await load(await temporaryFolder(files))).digests;
  const config = sampleConfig({ networks: undefined });
  const first = await digestsOf({ 'config.json': config, 'networks/local.json': network });
  assert.deepEqual([...first.keys()].sort(), ['config.json', 'networks/local.json']);
  assert.deepEqual(await digestsOf({ 'config.json': config, 'networks/local.json': network }), first);
  const changed = await digestsOf({ 'config.json': config, 'networks/local.json': { ...network, more: 1 } });
  assert.equal(changed.get('config.json'), first.get('config.json'));
  assert.notEqual(changed.get('networks/local.json'), first.get('networks/local.json'));
});

test('config: the revision is 0 or a whole number', async () => {
  const read = async (revision: unknown) =>
    (await load(await temporaryFolder({ 'config.json': { ...sampleConfig(), revision } }))).revision;
  assert.deepEqual([await read(undefined), await read(0), await read(7)], [0, 0, 7]);
  for (const wrong of [null, -1, 1.5, '7', 1e21, true, []])
    await assert.rejects(read(wrong), /revision: must be an integer of at most 15 digits, 0 or higher/);
});

test('networks: a problem in a folder names the file', async () => {
  const dir = await temporaryFolder({
    'config.json': sampleConfig({ networks: undefined }),
    'networks/a.json': { networks: [sampleNetwork({ symbol: '' })] },
    'networks/b.json': '{',
    'networks/c.json': [],
  });
  await assert.rejects(load(dir), (error) => {
    assert.ok(error instanceof ConfigError);
    assert.deepEqual(
      new Set(error.problems.map(({ path, problem }) => `${path}: ${problem}`)),
      new Set([
        `${join(dir, 'networks/a.json')} networks[0].symbol: must not be empty`,
        `${join(dir, 'networks/b.json')}: is not valid JSON: expected a name in double quotes at line 1, column 2`,
        `${join(dir, 'networks/c.json')}: must be an object with an array "networks"`,
      ]),
    );
    return true;
  });
});

test('networks: report a folder that is missing or has no networks', async () => {
  const missing = await temporaryFolder({ 'config.json': sampleConfig({ networks: '/does/not/exist' }) });
  await assert.rejects(load(missing), {
    problems: [
      { path: 'networks', problem: '/does/not/exist does not exist; copy it, or leave networks out to use the bundled ones' },
      unknown,
    ],
  });
  const empty = await temporaryFolder({ 'networks/readme.txt': '' });
  const dir = await temporaryFolder({ 'config.json': sampleConfig({ networks: join(empty, 'networks') }) });
  await assert.rejects(load(dir), {
    problems: [{ path: 'networks', problem: `the folder ${join(empty, 'networks')} has no *.json files` }, unknown],
  });
});

const unknown = { path: 'relayers[0].network', problem: 'no evm network has the name "anvil"' };

test('relayers: reject a network of another type', async () => {
  const networks = [sampleNetwork(), { type: 'solana', network: 'own', rpc_urls: ['https://rpc.example.com'] }];
  const dir = await temporaryFolder({ 'config.json': sampleConfig({ networks, relayers: [sampleRelayer({ network: 'own' })] }) });
  await assert.rejects(load(dir), {
    problems: [{ path: 'relayers[0].network', problem: '"own" is a network of type solana, but network_type is "evm"' }],
  });
});
