import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { keyKinds } from '../../../src/app/key-kinds.js';
import { systemClock } from '../../../src/core/work/clock.js';
import { cloudOf, isAzureUrl } from '../../../src/signers/azure-key-vault/clouds.js';
import { type AzureKey, createAzureProvider } from '../../../src/signers/azure-key-vault/provider.js';
import { type AzureIdentity, type AzureSurroundings, createTokenIssuer } from '../../../src/signers/azure-key-vault/token-issuer.js';
import type { HttpClient, HttpRequest } from '../../../src/signers/hosted/http-client.js';
import { type HostedRig, hostedKeyContract, openSigner } from '../../contracts/hosted-key.contract.js';
import { requireValid } from '../../contracts/signer.contract.js';
import { addAzureKey, type FakeAzure, type FakeAzureVersion, startFakeAzure } from '../../support/fake-azure.js';
import { type FakeKey, fakeKey } from '../../support/fake-provider.js';
import { fixedSecrets } from '../../support/fixed-secrets.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

interface Rig extends HostedRig {
  readonly server: FakeAzure;
  readonly version: FakeAzureVersion;
  readonly configured: AzureKey;
  /** The time that the provider sees moves on by this much. */
  readonly moveOn: (ms: number) => void;
}

type Test = { after(task: () => unknown): void };

const nowhere: AzureSurroundings = {
  authorityHost: null,
  federatedTokenFile: null,
  imdsTokenUrl: null,
  identityEndpoint: null,
  identityHeader: null,
};

function secretIdentityOf({ url, tenantId, clientId, clientSecret }: FakeAzure): AzureIdentity {
  const surroundings = { ...nowhere, authorityHost: url };
  return { authType: 'client_secret', tenantId, clientId, secrets: fixedSecrets({ client_secret: clientSecret }), surroundings };
}

async function start(test: Test, identityOf: (server: FakeAzure) => AzureIdentity = secretIdentityOf, wanted?: FakeKey): Promise<Rig> {
  const server = await startFakeAzure(test);
  const version = addAzureKey(server, 'relayer', wanted);
  const configured = { identity: identityOf(server), vaultUrl: server.url, keyName: 'relayer', keyVersion: null };
  let aheadMs = 0;
  const provider = createAzureProvider(configured, { elapsedMs: () => systemClock.elapsedMs() + aheadMs }, keyKinds.azure_key_vault.limits);
  test.after(() => provider.close());
  const moveOn = (ms: number) => {
    aheadMs += ms;
  };
  const moveAlias: Rig['moveAlias'] = (other) => {
    version.key = other;
  };
  return { provider, server, version, key: version.key, configured, moveOn, moveAlias };
}

function open(key: AzureKey, test: Test) {
  const provider = createAzureProvider(key, systemClock, keyKinds.azure_key_vault.limits);
  test.after(() => provider.close());
  return provider;
}

const soon = () => AbortSignal.timeout(60_000);

hostedKeyContract({
  kind: 'azure_key_vault',
  curves: ['secp256k1'],
  start: (_, test, wanted) => start(test, secretIdentityOf, wanted),
  throttled: {
    status: 429,
    body: { error: { code: 'Throttled', message: 'Request was not processed because too many requests were received.' } },
  },
  refused: { status: 403, body: { error: { code: 'Forbidden', message: 'Caller is not authorized' } } },
  secrets: ({ server }) => {
    const { clientSecret, tokens } = server as FakeAzure;
    return [clientSecret, ...tokens];
  },
});

describe('Azure Key Vault', () => {
  it('token: one serves many signatures at once, and is replaced before it ends or when it was revoked', async (test) => {
    const { provider, server, moveOn } = await start(test);
    const signer = await openSigner(provider, test);
    const sign = () => Promise.all(Array.from({ length: 20 }, () => requireValid(signer, randomBytes(32))));
    await sign();
    assert.equal(server.asked('/token'), 1);
    moveOn(3_100_000);
    await sign();
    assert.equal(server.asked('/token'), 2);
    server.revokeTokens();
    await sign();
    assert.equal(server.asked('/token'), 3);
  });

  it('client_secret: one that was replaced makes the signer unavailable, and no error quotes it', async (test) => {
    const { provider, server, configured } = await start(test);
    const signer = await openSigner(provider, test);
    server.clientSecret = 'another';
    server.revokeTokens();
    await assert.rejects(requireValid(signer, randomBytes(32)), {
      reason: 'SIGNER_UNAVAILABLE',
      message: 'signer s cannot sign now: Azure Key Vault refuses to sign with this key',
    });
    await assert.rejects(open(configured, test).publicKey(soon()), {
      problem: 'refused',
      message: 'HTTP 401: {"error":"invalid_client","error_description":"AADSTS7000215: Invalid client secret provided: ***"}',
    });
  });

  it('workload_identity: the file is read again for each token, so that a new token of Kubernetes is followed', async (test) => {
    const file = join(await temporaryFolder({}), 'token');
    const { provider, server, configured } = await start(test, (azure) => ({
      ...secretIdentityOf(azure),
      authType: 'workload_identity',
      secrets: fixedSecrets({}),
      surroundings: { ...nowhere, authorityHost: azure.url, federatedTokenFile: file },
    }));
    await assert.rejects(provider.publicKey(soon()), { problem: 'unreachable', message: /cannot be read: ENOENT$/ });
    const old = server.federatedToken(-60);
    await writeFile(file, old);
    const refusal: unknown = await provider.publicKey(soon()).catch((error: unknown) => error);
    assert.match(String(refusal), /AADSTS700211/);
    assert.ok(!String(refusal).includes(old), 'the token of Kubernetes is not quoted');
    await writeFile(file, `${server.federatedToken(600)}\n`);
    await requireValid(await openSigner(provider, test), randomBytes(32));
    const { surroundings, ...identity } = configured.identity;
    const none = { ...configured, identity: { ...identity, surroundings: { ...surroundings, federatedTokenFile: null } } };
    await assert.rejects(open(none, test).publicKey(soon()), { problem: 'refused', message: /^federated_token_file is required/ });
    const own = { ...none, identity: { ...none.identity, secrets: fixedSecrets({ federated_token_file: file }) } };
    assert.deepEqual(await open(own, test).publicKey(soon()), await provider.publicKey(soon()));
  });

  it('managed_identity: the metadata service of a machine, and that of App Service, give the token', async (test) => {
    for (const clientId of [null, 'own'] as const) {
      const machine = await start(test, (azure) => ({
        ...secretIdentityOf(azure),
        authType: 'managed_identity',
        tenantId: null,
        clientId: clientId && azure.clientId,
        secrets: fixedSecrets({}),
        surroundings: { ...nowhere, imdsTokenUrl: `${azure.url}/metadata/identity/oauth2/token` },
      }));
      await requireValid(await openSigner(machine.provider, test), randomBytes(32));
      assert.equal(machine.server.asked('/metadata/identity/oauth2/token'), 1);
    }
    const service = await start(test, (azure) => ({
      ...secretIdentityOf(azure),
      authType: 'managed_identity',
      surroundings: { ...nowhere, identityEndpoint: `${azure.url}/msi/token`, identityHeader: azure.identityHeader },
    }));
    const signer = await openSigner(service.provider, test);
    await requireValid(signer, randomBytes(32));
    service.moveOn(3_100_000);
    await requireValid(signer, randomBytes(32));
    assert.equal(service.server.asked('/msi/token'), 2, 'expires_on says when the token ends');
  });

  it('version: a rotation does not change the key under way, the newest is used at the next opening, and a named one always', async (test) => {
    const { provider, server, version, configured } = await start(test);
    const signer = await openSigner(provider, test);
    const newest = addAzureKey(server, 'relayer');
    await requireValid(signer, randomBytes(32));
    const again = await open(configured, test).publicKey(soon());
    assert.deepEqual(Buffer.from(again.bytes), Buffer.from(newest.key.publicKey.bytes));
    const named = await open({ ...configured, keyVersion: version.version }, test).publicKey(soon());
    assert.deepEqual(Buffer.from(named.bytes), Buffer.from(version.key.publicKey.bytes));
  });

  it('key: one that cannot sign for EVM networks is refused with the reason', async (test) => {
    const { version, configured, server } = await start(test);
    for (const [described, message] of [
      [
        { kty: 'RSA', crv: undefined },
        'the key is of type RSA; must be EC or EC-HSM on the curve P-256K. Azure Key Vault has no ed25519 keys',
      ],
      [
        { kty: 'EC', crv: 'P-256' },
        'the key is of type EC P-256; must be EC or EC-HSM on the curve P-256K. Azure Key Vault has no ed25519 keys',
      ],
      [{ enabled: false }, 'the key is disabled'],
      [{ key_ops: ['verify'] }, 'the key may not be used to sign; allow the operation "sign"'],
    ] as const) {
      version.described = described as FakeAzureVersion['described'] & object;
      await assert.rejects(open(configured, test).publicKey(soon()), { problem: 'refused', message });
    }
    version.described = { kty: 'EC-HSM' };
    await requireValid(await openSigner(open(configured, test), test), randomBytes(32));
    server.isDenied = true;
    await assert.rejects(open(configured, test).publicKey(soon()), { problem: 'refused', message: /^HTTP 403: / });
    await assert.rejects(open({ ...configured, keyName: 'other' }, test).publicKey(soon()), { problem: 'refused' });
  });

  it('key: coordinates that are no point of the curve are not used', async (test) => {
    const { version, configured } = await start(test);
    const { publicKey, sign } = fakeKey('secp256k1');
    const bytes = Uint8Array.from(publicKey.bytes);
    bytes[64] = (bytes[64] ?? 0) ^ 1;
    version.key = { publicKey: { curve: 'secp256k1', bytes }, sign };
    await assert.rejects(open(configured, test).publicKey(soon()), { problem: 'unreachable' });
  });

  it('tokens: with nothing set, each identity asks the service of its own cloud, with exactly these requests', async () => {
    const file = join(await temporaryFolder(), 'token');
    await writeFile(file, ' assertion ');
    const scope = 'https%3A%2F%2Fvault.azure.cn%2F.default';
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const url = 'https://login.chinacloudapi.cn/tenant%2F1/oauth2/v2.0/token';
    const expected: Readonly<Record<AzureIdentity['authType'], HttpRequest>> = {
      client_secret: {
        method: 'POST',
        url,
        headers: form,
        body: `grant_type=client_credentials&client_id=client&scope=${scope}&client_secret=secret`,
      },
      workload_identity: {
        method: 'POST',
        url,
        headers: form,
        body: `grant_type=client_credentials&client_id=client&scope=${scope}&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer&client_assertion=assertion`,
      },
      managed_identity: {
        method: 'GET',
        url: 'http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fvault.azure.cn&client_id=client',
        headers: { metadata: 'true' },
      },
    };
    for (const [authType, request] of Object.entries(expected)) {
      const asked: HttpRequest[] = [];
      const http: HttpClient = {
        send: async (wanted) => {
          asked.push(wanted);
          throw new Error('nobody is asked');
        },
        shown: (text) => text,
        close: async () => undefined,
      };
      const identity: AzureIdentity = {
        authType: authType as AzureIdentity['authType'],
        tenantId: 'tenant/1',
        clientId: 'client',
        secrets: fixedSecrets({ client_secret: 'secret', federated_token_file: file }),
        surroundings: nowhere,
      };
      await assert.rejects(createTokenIssuer(identity, 'https://a.vault.azure.cn', http).issue(), /nobody is asked/);
      assert.deepEqual(asked, [request], authType);
    }
  });

  it('clouds: each has its own token service, and only its own domains belong to Azure', () => {
    for (const [url, authority, resource] of [
      ['https://a.vault.azure.net', 'https://login.microsoftonline.com', 'https://vault.azure.net'],
      ['https://a.managedhsm.azure.net/', 'https://login.microsoftonline.com', 'https://managedhsm.azure.net'],
      ['https://a.vault.azure.cn', 'https://login.chinacloudapi.cn', 'https://vault.azure.cn'],
      ['https://a.vault.usgovcloudapi.net', 'https://login.microsoftonline.us', 'https://vault.usgovcloudapi.net'],
      ['https://proxy.example.com', 'https://login.microsoftonline.com', 'https://vault.azure.net'],
    ] as const)
      assert.deepEqual(cloudOf(url), { authority, resource }, url);
    assert.ok(isAzureUrl('https://a.vault.azure.net/'));
    for (const url of [
      'http://a.vault.azure.net',
      'https://a.vault.azure.net:8443',
      'https://a.vault.azure.net.evil.example',
      'https://evilvault.azure.net',
      'https://vault.azure.net@evil.example',
    ])
      assert.ok(!isAzureUrl(url), url);
  });
});
