import assert from 'node:assert/strict';
import { createECDH, randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import type { Curve } from '../../../src/core/records/network.js';
import { secp256k1 } from '../../../src/crypto/secp256k1.js';
import { createTurnkeyProvider, type TurnkeyKey } from '../../../src/signers/turnkey/provider.js';
import { type HostedRig, hostedKeyContract, openSigner } from '../../contracts/hosted-key.contract.js';
import { requireValid } from '../../contracts/signer.contract.js';
import { type FakeKey, fakeKey } from '../../support/fake-provider.js';
import { addTurnkeyKey, type FakeTurnkey, startFakeTurnkey } from '../../support/fake-turnkey.js';
import { fixedSecrets } from '../../support/fixed-secrets.js';

interface Rig extends HostedRig {
  readonly server: FakeTurnkey;
  readonly configured: TurnkeyKey;
}

type Test = { after(task: () => unknown): void };

async function start(curve: Curve, test: Test, wanted?: FakeKey): Promise<Rig> {
  const server = await startFakeTurnkey(test);
  const { key, config } = addTurnkeyKey(server, curve, wanted);
  const { url: apiBaseUrl, apiPublicKey, apiPrivateKey, organizationId } = server;
  const [privateKeyId = '', publicKey = ''] = [config.private_key_id, config.public_key];
  const secrets = fixedSecrets({ api_private_key: apiPrivateKey });
  const configured = { apiBaseUrl, apiPublicKey, secrets, organizationId, privateKeyId, publicKey };
  return { provider: open(configured, test), server, key, configured, moveAlias: (other) => server.keys.set(privateKeyId, other) };
}

function open(key: TurnkeyKey, test: Test) {
  // The fake has no plan: a test would take as long as the smallest one allows.
  const provider = createTurnkeyProvider(key, { parallel: 32, perSecond: 1_000 });
  test.after(() => provider.close());
  return provider;
}

const soon = () => AbortSignal.timeout(60_000);

hostedKeyContract({
  kind: 'turnkey',
  curves: ['secp256k1', 'ed25519'],
  start,
  throttled: { status: 429, body: { code: 8, message: 'Too many requests in a short period of time.' } },
  refused: { status: 403, body: { code: 7, message: 'You do not have sufficient permissions' } },
  secrets: ({ server }) => [(server as FakeTurnkey).apiPrivateKey],
});

describe('Turnkey', () => {
  it('public_key: may be compressed and begin with 0x', async (test) => {
    const { configured, key } = await start('secp256k1', test);
    const short = Buffer.from(secp256k1.publicKeyConvert(Buffer.from(configured.publicKey, 'hex'), true)).toString('hex');
    const found = await open({ ...configured, publicKey: `0x${short}` }, test).publicKey(soon());
    assert.deepEqual(Buffer.from(found.bytes), Buffer.from(key.publicKey.bytes));
  });

  for (const curve of ['secp256k1', 'ed25519'] as const)
    it(`public_key: one of another ${curve} key is refused at the start, so that no money goes to its address`, async (test) => {
      const { configured } = await start(curve, test);
      const publicKey = Buffer.from(fakeKey(curve).publicKey.bytes).toString('hex');
      await assert.rejects(open({ ...configured, publicKey }, test).publicKey(soon()), {
        problem: 'refused',
        message: `public_key ${publicKey} is not the public key of ${configured.privateKeyId}`,
      });
    });

  it('public_key: a text that is no key is refused with what is allowed', async (test) => {
    const { configured } = await start('ed25519', test);
    for (const publicKey of ['04', 'zz', '00'.repeat(65), `${'ab'.repeat(32)}c`])
      await assert.rejects(open({ ...configured, publicKey }, test).publicKey(soon()), {
        problem: 'refused',
        message: `public_key is ${publicKey}; must be the hex digits of a secp256k1 key (33 or 65 bytes) or an ed25519 key (32 bytes)`,
      });
  });

  it('API key: halves that do not belong together are refused without a request, and without the private half in the error', async (test) => {
    const { configured, server } = await start('ed25519', test);
    const other = createECDH('prime256v1');
    other.generateKeys();
    for (const apiPrivateKey of [other.getPrivateKey('hex').padStart(64, '0'), '12', 'f'.repeat(64)]) {
      const error: unknown = await open({ ...configured, secrets: fixedSecrets({ api_private_key: apiPrivateKey }) }, test)
        .publicKey(soon())
        .catch((one: unknown) => one);
      assert.ok(error instanceof Error && /^api_private_key (?:is not|must be)/.test(error.message), String(error));
      assert.ok(!error.message.includes(apiPrivateKey));
    }
    assert.equal(server.asked('sign_raw_payload'), 0);
  });

  it('API key: one that was revoked makes the signer unavailable', async (test) => {
    const { provider, server } = await start('secp256k1', test);
    const signer = await openSigner(provider, test);
    server.isRevoked = true;
    await assert.rejects(requireValid(signer, randomBytes(32)), {
      reason: 'SIGNER_UNAVAILABLE',
      message: 'signer s cannot sign now: Turnkey refuses to sign with this key',
    });
  });

  it('activity: one that is pending is looked at until it is completed', async (test) => {
    const { provider, server } = await start('secp256k1', test);
    const signer = await openSigner(provider, test);
    server.firstStatus = 'PENDING';
    await requireValid(signer, randomBytes(32));
    assert.equal(server.asked('get_activity'), 1);
  });

  for (const [status, message] of [
    ['CONSENSUS_NEEDED', 'a policy requires more users to approve the signature; allow the API user to sign alone'],
    ['FAILED', 'the activity is FAILED: policy denied'],
  ] as const)
    it(`activity: ${status} is a refusal with the reason`, async (test) => {
      const { provider, server } = await start('ed25519', test);
      server.firstStatus = status;
      await assert.rejects(provider.sign(randomBytes(32), soon()), { problem: 'refused', message });
    });
});
