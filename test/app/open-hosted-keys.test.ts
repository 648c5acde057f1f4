import assert from 'node:assert/strict';
import { createECDH, generateKeyPairSync } from 'node:crypto';
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import { after, before, describe, it, type TestContext } from 'node:test';
import { createHostedKeys, operatorChoices } from '../../src/app/open-hosted-keys.js';
import { DomainError } from '../../src/core/errors/errors.js';
import type { HostedKey } from '../../src/core/signer/hosted-key.js';
import { addAwsKey, awsVariablesOf, startFakeAwsKms, useAwsEnvironment } from '../support/fake-aws-kms.js';
import { addAzureKey, startFakeAzure } from '../support/fake-azure.js';
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
  identityKeys: [],
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

/** Keys of a cloud that the service uses with its own identity, and what opens them. */
interface IdentityCloud {
  keyNamed(name: string): HostedKey;
  /** How `SERVICE_IDENTITY_KEYS` names a key, or a beginning with `*`. */
  setting(name: string): string;
  readonly settings: Partial<Parameters<typeof operatorChoices>[1]>;
}

const identityClouds: Readonly<Record<string, (test: TestContext) => Promise<IdentityCloud>>> = {
  async aws_kms(test) {
    const kms = await startFakeAwsKms(test);
    useAwsEnvironment(test, awsVariablesOf(kms));
    for (const name of ['alias/relayer-1', 'alias/treasury']) addAwsKey(kms, name, 'secp256k1');
    return {
      keyNamed: (name) => ({ type: 'aws_kms', at: { region: kms.region, key_id: `alias/${name}` }, secrets: {} }),
      setting: (name) => `aws_kms=${kms.region}/alias/${name}`,
      settings: {},
    };
  },
  async azure_key_vault(test) {
    const azure = await startFakeAzure(test);
    for (const name of ['relayer-1', 'treasury', 'other']) addAzureKey(azure, name);
    return {
      keyNamed: (name) => ({
        type: 'azure_key_vault',
        at: { auth_type: 'managed_identity', vault_url: azure.url, key_name: name },
        secrets: {},
      }),
      setting: (name) => `azure_key_vault=${azure.url}/${name}`,
      settings: { azureImdsTokenUrl: `${azure.url}/metadata/identity/oauth2/token`, rpcBlockPrivateIps: false },
    };
  },
};

describe('keys that the service uses with its own identity', () => {
  for (const [type, start] of Object.entries(identityClouds)) {
    it(`${type}: the API opens only keys that the operator has named`, async (test) => {
      const cloud = await start(test);
      /** A signer of the file makes its vault the operator's choice, but not each key in it. */
      const ofFile = cloud.keyNamed('other');
      const isOpened = async (name: string, identityKeys: readonly string[], signers: readonly HostedKey[] = [ofFile]) => {
        const config = { signers: signers.map((hosted) => ({ id: 'file', hosted })) } as unknown as Parameters<typeof operatorChoices>[0];
        const keys = createHostedKeys(silentLog, operatorChoices(config, { ...settings, ...cloud.settings, identityKeys }));
        try {
          await (await keys.open('s', cloud.keyNamed(name), null)).signer.close?.();
          return true;
        } catch (error) {
          assert.ok(error instanceof DomainError && error.reason === 'FIELD_INVALID', String(error));
          assert.match(
            error.message,
            /^config\.key_(id|name) must be a key that SERVICE_IDENTITY_KEYS or a signer in the configuration file names/,
          );
          return false;
        }
      };
      assert.equal(await isOpened('treasury', []), false, 'not named');
      assert.equal(await isOpened('treasury', [], [ofFile, cloud.keyNamed('treasury')]), true, 'a key of the file');
      assert.equal(await isOpened('treasury', [cloud.setting('treasury')]), true, 'named');
      assert.equal(await isOpened('treasury', [cloud.setting('relayer-*')]), false, 'another beginning');
      assert.equal(await isOpened('relayer-1', [cloud.setting('relayer-*')]), true, 'its beginning');
      assert.equal(await isOpened('relayer-1', [cloud.setting('relayer-')]), false, 'a whole name is no beginning');
      assert.equal(await isOpened('treasury', [`${type}=*`]), true, 'every key');
      const otherType = type === 'aws_kms' ? 'azure_key_vault=*' : 'aws_kms=*';
      assert.equal(await isOpened('treasury', [otherType]), false, 'every key of another type');
    });
  }
});
