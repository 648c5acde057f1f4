import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { bundledNetworks } from '../../src/config/bundled-networks.js';
import { type LoadedConfig, loadConfig } from '../../src/config/config-file.js';
import { chainKeyOf } from '../../src/core/records/network.js';
import { anyKeystore, sampleConfig, sampleEnv, sampleNetwork, sampleRelayer } from '../support/sample-config.js';
import { temporaryFolder } from '../support/temporary-folder.js';

async function load(change: Readonly<Record<string, unknown>>): Promise<LoadedConfig> {
  const dir = await temporaryFolder({ 'config.json': sampleConfig(change) });
  return loadConfig({ dir, fileName: 'config.json', env: sampleEnv, readKeystore: anyKeystore });
}

describe('bundled networks', () => {
  it('bundled networks: are all present if the file defines none, and each is its own chain', async () => {
    for (const networks of [undefined, []]) {
      const config = await load({ networks, relayers: [] });
      assert.equal(config.networks.length, bundledNetworks.length);
      assert.equal(new Set(config.networks.map(chainKeyOf)).size, bundledNetworks.length);
      assert.equal(new Set(config.networks.map(({ type, name }) => `${type} ${name}`)).size, bundledNetworks.length);
    }
  });

  it('have what a relayer needs: several confirmations on main networks, public https nodes without a key', async () => {
    const { networks } = await load({ networks: undefined, relayers: [] });
    for (const { name, type, rpcUrls, explorerUrls, isTestnet, requiredConfirmations, averageBlockTimeMs } of networks) {
      assert.equal(isTestnet, /sepolia|amoy|testnet|fuji|devnet/.test(name), name);
      if (type === 'evm' && !isTestnet) assert.ok(requiredConfirmations >= 3, name);
      assert.ok(averageBlockTimeMs >= 250 && averageBlockTimeMs <= 12_000, name);
      assert.ok(explorerUrls.length > 0, name);
      for (const { url } of rpcUrls) assert.match(url, /^https:\/\/[a-z0-9.-]+(?::8545)?(?:\/[a-zA-Z/]*)?$/);
    }
  });

  it('bundled networks: are listed in the documentation', async () => {
    const page = await readFile('docs/networks.md', 'utf8');
    const { networks } = await load({ networks: undefined, relayers: [] });
    const rows = page.split('\n').filter((line) => /^\| (?:evm|stellar|solana) /.test(line));
    assert.deepEqual(
      rows.map((row) =>
        row
          .split('|')
          .slice(1, 6)
          .map((cell) => cell.trim()),
      ),
      networks.map((network) => {
        const chain = network.type === 'evm' ? String(network.chainId) : network.type === 'stellar' ? network.passphrase : '';
        const confirmations = { evm: String(network.requiredConfirmations), stellar: 'set by the ledger', solana: 'set by the cluster' };
        return [network.type, `\`${network.name}\``, chain, network.symbol, confirmations[network.type]];
      }),
    );
  });

  it('bundled networks: can be used by relayers and inherited by networks', async () => {
    const own = { type: 'evm', network: 'mainnet-private', from: 'mainnet', rpc_urls: ['https://node.example.com'] };
    const config = await load({
      networks: [own],
      relayers: [
        sampleRelayer({ network: 'mainnet-private' }),
        sampleRelayer({ id: 'other', network: 'mainnet', network_type: 'stellar' }),
      ],
    });
    const [evm, stellar] = config.relayers.map(({ network }) => network);
    assert.ok(evm?.type === 'evm');
    assert.deepEqual([evm.chainId, evm.eip1559, evm.requiredConfirmations], [1n, true, 12]);
    assert.deepEqual(evm.rpcUrls, [{ url: 'https://node.example.com', weight: 100 }]);
    assert.equal(stellar?.type === 'stellar' && stellar.passphrase, 'Public Global Stellar Network ; September 2015');
  });

  it('bundled networks: are replaced as a whole by the file’s own of the same name and type', async () => {
    const config = await load({ networks: [sampleNetwork({ network: 'sepolia' })], relayers: [sampleRelayer({ network: 'sepolia' })] });
    assert.equal(config.networks.length, bundledNetworks.length);
    const network = config.relayers[0]?.network;
    assert.ok(network?.type === 'evm');
    assert.deepEqual([network.chainId, network.explorerUrls, network.eip1559], [31337n, [], false]);
  });
});
