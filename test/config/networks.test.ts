import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { type LoadedConfig, loadConfig } from '../../src/config/config-file.js';
import { ConfigError } from '../../src/config/problem.js';
import { sampleConfig, sampleEnv, sampleNetwork, sampleRelayer } from '../support/sample-config.js';
import { temporaryFolder } from '../support/temporary-folder.js';

function load(dir: string): Promise<LoadedConfig> {
  return loadConfig({ dir, fileName: 'config.json', env: sampleEnv });
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

test('a network takes over what it does not say; tags and features are united', async () => {
  const { networks } = await loadNetworks([
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
  assert.equal(base?.eip1559, false);
});

test('inheriting from nobody, from oneself, in a circle, and from a wrong network', async () => {
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
      'networks[5].chain_id: must be an integer from 1 to 2^64-1',
      'networks[0].from: no EVM network has the name "ghost"',
      'networks[1].from: goes round in a circle',
      'networks[2].from: goes round in a circle',
      'networks[3].from: goes round in a circle',
    ],
  );
});

test('a large chain id is exact', async () => {
  const file = JSON.stringify(sampleConfig()).replace('31337', '18446744073709551615');
  const { networks } = await load(await temporaryFolder({ 'config.json': file }));
  assert.equal(networks[0]?.chainId, 2n ** 64n - 1n);
});

test('networks come from a folder, beside the file unless it says where', async () => {
  const files = {
    'networks/local.json': { networks: [sampleNetwork()] },
    'networks/more.JSON': { networks: [{ type: 'evm', network: 'fork', from: 'anvil', chain_id: 2 }] },
    'networks/readme.txt': 'not read',
  };
  for (const networks of [undefined, null, '']) {
    const dir = await temporaryFolder({ ...files, 'config.json': sampleConfig({ networks }) });
    assert.deepEqual(
      (await load(dir)).networks.map(({ name, chainId }) => [name, chainId]),
      [
        ['anvil', 31337n],
        ['fork', 2n],
      ],
    );
  }
  const elsewhere = await temporaryFolder(files);
  const dir = await temporaryFolder({ 'config.json': sampleConfig({ networks: join(elsewhere, 'networks') }) });
  assert.equal((await load(dir)).networks.length, 2);
});

test('problems in a folder name the file', async () => {
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
        `${join(dir, 'networks/b.json')}: expected a name in double quotes at line 1, column 2`,
        `${join(dir, 'networks/c.json')}: must be an object with a list "networks"`,
      ]),
    );
    return true;
  });
});

test('a folder that is not there, or has no networks', async () => {
  const missing = await temporaryFolder({ 'config.json': sampleConfig({ networks: '/does/not/exist' }) });
  await assert.rejects(
    load(missing),
    /^ConfigError: networks: must be a list, or a folder of \*\.json files; the folder \/does\/not\/exist does not exist/,
  );
  const empty = await temporaryFolder({ 'config.json': sampleConfig({ networks: undefined }), 'networks/readme.txt': '' });
  await assert.rejects(load(empty), /networks: the folder .* has no \*\.json files/);
});

test('networks of other kinds are told and not used', async () => {
  const stellar = { type: 'stellar', network: 'testnet', passphrase: 'Test SDF Network' };
  const { networks, notices } = await loadNetworks([sampleNetwork(), stellar]);
  assert.equal(networks.length, 1);
  assert.deepEqual(notices, ['network "testnet" is not used: stellar is not supported yet']);
  const dir = await temporaryFolder({
    'config.json': sampleConfig({ networks: [sampleNetwork(), stellar], relayers: [sampleRelayer({ network: 'testnet' })] }),
  });
  await assert.rejects(load(dir), {
    problems: [{ path: 'relayers[0].network', problem: '"testnet" is a stellar network, network_type is "evm"' }],
  });
});
