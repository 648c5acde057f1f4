import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { keyKinds } from '../../../src/app/key-kinds.js';
import type { Curve } from '../../../src/core/records/network.js';
import { systemClock } from '../../../src/core/work/clock.js';
import { createGoogleKmsProvider, type GoogleKey } from '../../../src/signers/google-cloud-kms/provider.js';
import { type HostedRig, hostedKeyContract, openSigner } from '../../contracts/hosted-key.contract.js';
import { requireValid } from '../../contracts/signer.contract.js';
import { addGoogleKey, type FakeGoogleKms, googleKeyName, startFakeGoogleKms } from '../../support/fake-google-kms.js';
import type { FakeKey } from '../../support/fake-provider.js';
import { fixedSecrets } from '../../support/fixed-secrets.js';

interface Rig extends HostedRig {
  readonly server: FakeGoogleKms;
  readonly configured: GoogleKey;
  /** The time that the provider sees moves on by this much. */
  readonly moveOn: (ms: number) => void;
}

type Test = { after(task: () => unknown): void };

async function start(curve: Curve, test: Test, wanted?: FakeKey): Promise<Rig> {
  const server = await startFakeGoogleKms(test);
  const key = addGoogleKey(server, curve, wanted);
  const { clientEmail, privateKeyId, privateKey, url: endpoint } = server;
  const secrets = {
    'service_account.client_email': clientEmail,
    'service_account.private_key_id': privateKeyId,
    'service_account.private_key': privateKey,
  };
  const account = { tokenUri: `${endpoint}/token`, secrets: fixedSecrets(secrets) };
  const configured = { account, endpoint, projectId: 'project', location: 'global', keyRingId: 'ring', keyId: 'relayer', keyVersion: 1 };
  let aheadMs = 0;
  const provider = createGoogleKmsProvider(
    configured,
    { elapsedMs: () => systemClock.elapsedMs() + aheadMs },
    keyKinds.google_cloud_kms.limits,
  );
  test.after(() => provider.close());
  const moveOn = (ms: number) => {
    aheadMs += ms;
  };
  return { provider, server, key, configured, moveOn, moveAlias: (other) => server.keys.set(googleKeyName, other) };
}

function open(key: GoogleKey, test: Test) {
  const provider = createGoogleKmsProvider(key, systemClock, keyKinds.google_cloud_kms.limits);
  test.after(() => provider.close());
  return provider;
}

const soon = () => AbortSignal.timeout(60_000);

hostedKeyContract({
  kind: 'google_cloud_kms',
  curves: ['secp256k1', 'ed25519'],
  start,
  throttled: { status: 429, body: { error: { code: 429, status: 'RESOURCE_EXHAUSTED' } } },
  refused: { status: 403, body: { error: { code: 403, status: 'PERMISSION_DENIED' } } },
  secrets: ({ server }) => {
    const { clientEmail, privateKeyId, privateKey, tokens } = server as FakeGoogleKms;
    return [clientEmail, privateKeyId, privateKey, ...tokens];
  },
});

describe('Google Cloud KMS', () => {
  it('token: one serves many signatures at once, and is replaced before it ends', async (test) => {
    const { provider, server, moveOn } = await start('ed25519', test);
    const signer = await openSigner(provider, test);
    await Promise.all(Array.from({ length: 20 }, () => requireValid(signer, randomBytes(99))));
    assert.equal(server.asked('/token'), 1);
    moveOn(3_100_000);
    await Promise.all(Array.from({ length: 20 }, () => requireValid(signer, randomBytes(99))));
    assert.equal(server.asked('/token'), 2);
  });

  it('token: one that was revoked before its end is replaced within the same signature', async (test) => {
    const { provider, server } = await start('secp256k1', test);
    const signer = await openSigner(provider, test);
    server.revokeTokens();
    await requireValid(signer, randomBytes(32));
    assert.equal(server.asked('/token'), 2);
  });

  it('service account: one that is disabled makes the signer unavailable', async (test) => {
    const { provider, server } = await start('secp256k1', test);
    const signer = await openSigner(provider, test);
    server.isDisabled = true;
    server.revokeTokens();
    await assert.rejects(provider.publicKey(soon()), {
      problem: 'refused',
      message: 'HTTP 400: {"error":"invalid_grant","error_description":"Invalid JWT: ***"}',
    });
    await assert.rejects(requireValid(signer, randomBytes(32)), {
      reason: 'SIGNER_UNAVAILABLE',
      message: 'signer s cannot sign now: Google Cloud KMS refuses to sign with this key',
    });
  });

  it('private_key: its line breaks may be written as \\n; a text that is no RSA key is refused, and not quoted', async (test) => {
    const { configured } = await start('secp256k1', test);
    const { account } = configured;
    const withKey = (privateKey: string) => {
      const secrets = fixedSecrets({ ...account.secrets.now(), 'service_account.private_key': privateKey });
      return open({ ...configured, account: { ...account, secrets } }, test);
    };
    await withKey(account.secrets.now()['service_account.private_key'].replaceAll('\n', '\\n')).publicKey(soon());
    await assert.rejects(withKey('hunter2').publicKey(soon()), {
      problem: 'refused',
      message: 'service_account.private_key is not the PEM text of an RSA key',
    });
  });

  it('key: one that does not exist is refused, and its names cannot leave their part of the path', async (test) => {
    const { configured, server } = await start('secp256k1', test);
    await assert.rejects(open({ ...configured, keyVersion: 2 }, test).publicKey(soon()), { problem: 'refused', message: /^HTTP 404: / });
    await assert.rejects(open({ ...configured, keyId: '../relayer' }, test).publicKey(soon()), { problem: 'refused' });
    assert.equal(server.asked('/cryptoKeys/..%2Frelayer/cryptoKeyVersions/1/publicKey'), 1);
  });
});
