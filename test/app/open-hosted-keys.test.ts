import assert from 'node:assert/strict';
import { createECDH, generateKeyPairSync } from 'node:crypto';
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import { after, before, describe, it, type TestContext } from 'node:test';
import { createHostedKeys, operatorChoices } from '../../src/app/open-hosted-keys.js';
import { DomainError } from '../../src/core/errors/errors.js';
import type { HostedKey } from '../../src/core/signer/hosted-key.js';
import { startHttpReceiver } from '../support/http-receiver.js';
import { silentLog } from '../support/stored-samples.js';

const settings = {
  signerLimits: new Map(),
  rpcAllowedHosts: new Set<string>(),
  rpcBlockPrivateIps: true,
  azureAuthorityHost: null,
  azureFederatedTokenFile: null,
  azureImdsTokenUrl: null,
  azureIdentityEndpoint: null,
  azureIdentityHeader: null,
};

const rsaKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' });

const turnkeyPair = createECDH('prime256v1');
turnkeyPair.generateKeys();

/** A name of a caller, which leads into the network of the service. */
const hostname = 'vault.rebind.example';

describe('the limits of URLs of signers', () => {
  const { lookup } = dns.promises;

  before(() => {
    const inner = [{ address: '127.0.0.1', family: 4 }];
    dns.promises.lookup = (async (name: string, options: object) =>
      name === hostname ? inner : lookup(name, options)) as typeof dns.promises.lookup;
    syncBuiltinESMExports();
  });
  after(() => {
    dns.promises.lookup = lookup;
    syncBuiltinESMExports();
  });

  async function innerServer(test: TestContext) {
    return startHttpReceiver(test, (response) => {
      response.statusCode = 403;
      response.end('{"errors":["what only the inner network knows"]}');
    });
  }

  const keysAt: readonly ((url: string) => HostedKey)[] = [
    (address) => ({ type: 'vault', at: { address, key_name: 'k' }, secrets: { role_id: 'r', secret_id: 's' } }) as HostedKey,
    (address) =>
      ({
        type: 'vault_transit',
        at: { address, key_name: 'k', pubkey: Buffer.alloc(32, 5).toString('base64') },
        secrets: { role_id: 'r', secret_id: 's' },
      }) as HostedKey,
    (api_base_url) =>
      ({
        type: 'turnkey',
        at: {
          api_public_key: turnkeyPair.getPublicKey('hex', 'compressed'),
          organization_id: 'o',
          private_key_id: 'k',
          public_key: `${'11'.repeat(32)}`,
          api_base_url,
        },
        secrets: { api_private_key: turnkeyPair.getPrivateKey('hex') },
      }) as HostedKey,
    (token_uri) =>
      ({
        type: 'google_cloud_kms',
        at: { 'service_account.token_uri': token_uri, 'service_account.project_id': 'p', 'key.key_ring_id': 'r', 'key.key_id': 'k' },
        secrets: { 'service_account.client_email': 'a@b', 'service_account.private_key': rsaKey },
      }) as HostedKey,
  ];

  /** Opens a key and signs with it: the first call to a provider is one or the other. */
  async function useKey(keys: ReturnType<typeof createHostedKeys>, key: HostedKey) {
    const { signer } = await keys.open('s', key, null);
    try {
      const [evm, other] = [signer.on('secp256k1'), signer.on('ed25519')];
      if (evm?.curve === 'secp256k1') return await evm.signDigest(Buffer.alloc(32, 1));
      return other?.curve === 'ed25519' ? await other.sign(Buffer.alloc(32, 1)) : assert.fail('it has no curve');
    } finally {
      await signer.close?.();
    }
  }

  async function refusalOf(key: HostedKey, choices: Partial<Parameters<typeof operatorChoices>[1]> = {}, signers: readonly object[] = []) {
    const all = operatorChoices({ signers } as Parameters<typeof operatorChoices>[0], { ...settings, ...choices });
    const error = await useKey(createHostedKeys(silentLog, all), key).then(
      () => assert.fail('it signed'),
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof DomainError, String(error));
    return error;
  }

  for (const keyAt of keysAt) {
    const { type } = keyAt('http://a');

    it(`a ${type} signer whose name leads to a private address is not called`, async (test) => {
      const inner = await innerServer(test);
      await refusalOf(keyAt(`http://${hostname}:${inner.port}`));
      assert.equal(inner.requests.length, 0);
      await refusalOf(keyAt(inner.url('')));
      assert.equal(inner.requests.length, 0, 'nor by a literal address');
      await refusalOf(keyAt(`http://${hostname}:${inner.port}`), {
        rpcBlockPrivateIps: false,
        rpcAllowedHosts: new Set(['vault.acme.com']),
      });
      assert.equal(inner.requests.length, 0, 'nor a host that is not allowed');
      await refusalOf(keyAt(inner.url('')), { rpcBlockPrivateIps: false });
      assert.ok(inner.requests.length > 0, 'without limits it is called');
    });
  }

  it('a signer at a URL of the configuration file is not limited, and its answers are in the log alone', async (test) => {
    const inner = await innerServer(test);
    const [vaultAt = assert.fail()] = keysAt;
    const key = vaultAt(inner.url(''));
    const { message, reason } = await refusalOf(key, {}, [{ id: 'file', hosted: key }]);
    assert.equal(inner.requests.length, 1);
    assert.equal(reason, 'FIELD_INVALID');
    assert.match(message, /is refused by Vault: HTTP 403; the log has the answer$/);
  });
});
