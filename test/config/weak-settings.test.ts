import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { it } from 'node:test';
import { loadConfig } from '../../src/config/config-file.js';
import { loadSettings } from '../../src/config/settings.js';
import { weakNetworks, weakSettings } from '../../src/config/weak-settings.js';
import { anyKeystore, sampleConfig, sampleEnv, sampleNetwork, sampleRelayer, sampleSigner } from '../support/sample-config.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const strong = { API_KEY: randomBytes(32).toString('hex'), STORAGE_ENCRYPTION_KEY: randomBytes(32).toString('base64') };

for (const [env, name] of [
  [{}, null],
  [{ API_KEY: 'a'.repeat(64) }, 'API_KEY'],
  [{ API_KEY_NEXT: 'a'.repeat(64) }, 'API_KEY_NEXT'],
  [{ STORAGE_ENCRYPTION_KEY: Buffer.alloc(32).toString('base64') }, 'STORAGE_ENCRYPTION_KEY'],
  [{ HOST: '0.0.0.0' }, 'HOST'],
  [{ HOST: '::' }, 'HOST'],
  [{ HOST: '127.0.0.2' }, null],
  [{ HOST: 'localhost' }, null],
  [{ HOST: '0.0.0.0', TLS_CERT_FILE: 'a', TLS_KEY_FILE: 'b' }, null],
  [{ WEBHOOK_ALLOW_PRIVATE: 'true' }, 'WEBHOOK_ALLOW_PRIVATE'],
] as const) {
  it(`weak settings: ${JSON.stringify(env)} ${name === null ? 'is strong' : `is weak, and the sentence names ${name} without a secret`}`, () => {
    const all = { ...strong, ...env };
    const weak = weakSettings(loadSettings(all));
    assert.equal(weak.length, name === null ? 0 : 1, weak.join());
    if (name !== null) assert.ok(weak[0]?.startsWith(name), weak[0]);
    for (const secret of [all.API_KEY, all.STORAGE_ENCRYPTION_KEY]) assert.ok(!weak.join().includes(secret));
  });
}

/** What is weak about a file whose one relayer has these URLs, its own or its network's. */
async function weakUrls(urls: readonly string[], own: boolean): Promise<readonly string[]> {
  const content = own
    ? { relayers: [sampleRelayer({ custom_rpc_urls: urls })], networks: [sampleNetwork()] }
    : { networks: [sampleNetwork({ rpc_urls: urls })] };
  const dir = await temporaryFolder({ 'config.json': sampleConfig(content) });
  return weakNetworks(await loadConfig({ dir, fileName: 'config.json', env: sampleEnv, readKeystore: anyKeystore }));
}

for (const [urls, ...expected] of [
  [['https://a.example.com/key', 'wss://b.example.com']],
  [['http://10.0.0.1:8545', 'http://geth:8545']],
  [['http://10.0.0.1:8545', 'http://[::1]:8545', 'ws://node.local']],
  [['https://a.example.com/key'], /has RPC URLs of one host, whose word nothing contradicts/],
  [['https://a.example.com/key', 'wss://a.example.com/ws'], /has RPC URLs of one host/],
  [['https://a.example.com/key', 'http://b.example.com/key'], /reaches b\.example\.com without TLS/],
  [['https://a.example.com/key', 'ws://203.0.114.1'], /reaches 203\.0\.114\.1 without TLS/],
  [['https://a.example.com/key', 'https://eth.drpc.org'], /uses the public RPC host eth\.drpc\.org/],
  [['http://eth.drpc.org/key'], /of one host/, /public RPC host/, /without TLS/],
] as const) {
  for (const own of [false, true])
    it(`weak networks: ${urls.join(' ')} of the ${own ? 'relayer' : 'network'} has ${expected.length} sentences, without a key`, async () => {
      const weak = await weakUrls(urls, own);
      assert.equal(weak.length, expected.length, weak.join('\n'));
      expected.forEach((pattern, index) => {
        assert.match(weak[index] ?? '', pattern);
      });
      for (const sentence of weak) {
        assert.ok(sentence.startsWith(own ? 'relayer relayer-1 ' : 'network anvil '), sentence);
        assert.doesNotMatch(sentence, /key/);
      }
    });
}

it('weak networks: a bundled network is named once, and one that no relayer uses is not', async () => {
  const relayers = ['r1', 'r2'].map((id) => sampleRelayer({ id, network: 'sepolia', signer_id: id }));
  const signers = ['r1', 'r2'].map((id) => sampleSigner({ id }));
  const dir = await temporaryFolder({ 'config.json': sampleConfig({ relayers, signers, networks: [] }) });
  const weak = weakNetworks(await loadConfig({ dir, fileName: 'config.json', env: sampleEnv, readKeystore: anyKeystore }));
  assert.equal(weak.length, 2);
  for (const sentence of weak) assert.match(sentence, /^network sepolia uses the public RPC host /);
});
