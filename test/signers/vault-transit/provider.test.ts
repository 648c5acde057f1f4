import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { keyKinds } from '../../../src/app/key-kinds.js';
import type { Signer } from '../../../src/core/ports/signer.js';
import { systemClock } from '../../../src/core/work/clock.js';
import { systemTimers } from '../../../src/core/work/timers.js';
import { createHostedSigner } from '../../../src/signers/hosted/hosted-signer.js';
import { createProviderGate } from '../../../src/signers/hosted/provider-gate.js';
import { createVaultClient } from '../../../src/signers/vault/vault-client.js';
import { createTransitProvider } from '../../../src/signers/vault-transit/provider.js';
import { type HostedRig, hostedKeyContract } from '../../contracts/hosted-key.contract.js';
import { requireValid } from '../../contracts/signer.contract.js';
import { type FakeKey, fakeKey } from '../../support/fake-provider.js';
import { type FakeVault, startFakeVault, transitSignerOf } from '../../support/fake-vault.js';
import { fixedSecrets } from '../../support/fixed-secrets.js';
import { silentLog } from '../../support/stored-samples.js';
import { waitFor } from '../../support/wait-for.js';

interface Rig extends HostedRig {
  readonly vault: FakeVault;
  readonly open: () => Promise<Signer>;
  /** The time that the client of Vault sees moves on by this much. */
  readonly moveOn: (ms: number) => void;
}

async function startRig(test: { after(task: () => unknown): void }, wanted?: FakeKey): Promise<Rig> {
  const vault = await startFakeVault(test);
  const { key } = transitSignerOf(vault, 'app', wanted);
  let aheadMs = 0;
  const clock = { ...systemClock, elapsedMs: () => systemClock.elapsedMs() + aheadMs };
  const secrets = fixedSecrets({ role_id: vault.roleId, secret_id: vault.secretId });
  const client = createVaultClient({ address: vault.address, namespace: null, secrets }, clock, keyKinds.vault_transit.limits);
  const pubkey = Buffer.from(key.publicKey.bytes).toString('base64');
  const provider = createTransitProvider(client, { account: 'v', mountPoint: 'transit', keyName: 'app', pubkey });
  const time = { clock: systemClock, timers: systemTimers };
  test.after(() => provider.close());
  return {
    vault,
    server: vault,
    key,
    moveAlias: (other) => vault.transit.set('transit/keys/app', { type: 'ed25519', versions: [other] }),
    provider,
    moveOn: (ms) => {
      aheadMs += ms;
    },
    async open() {
      const publicKey = await provider.publicKey(AbortSignal.timeout(60_000));
      const gate = createProviderGate(provider.limits, time);
      return createHostedSigner({ id: 's', provider, publicKey, gate, time, log: silentLog }).signer;
    },
  };
}

hostedKeyContract({
  kind: 'vault_transit',
  curves: ['ed25519'],
  start: (_, test, wanted) => startRig(test, wanted),
  throttled: { status: 429, body: { errors: ['request path "transit/sign/app": rate limit quota exceeded'] } },
  refused: { status: 403, body: { errors: ['1 error occurred: permission denied'] } },
  secrets: ({ server }) => {
    const { roleId, secretId } = server as FakeVault;
    return [roleId, secretId];
  },
});

describe('Vault Transit', () => {
  it('token: one login serves many signatures at once', async (test) => {
    const { vault, open } = await startRig(test);
    const signer = await open();
    await Promise.all(Array.from({ length: 50 }, () => requireValid(signer, randomBytes(99))));
    assert.equal(vault.asked('/auth/approle/login'), 1);
    assert.equal(vault.asked('/transit/sign/app'), 50);
  });

  it('token: is renewed before its lease ends, and replaced by a login when it cannot be renewed any more', async (test) => {
    const { vault, open, moveOn } = await startRig(test);
    const signer = await open();
    moveOn(vault.leaseSeconds * 700);
    await requireValid(signer, randomBytes(32));
    assert.deepEqual([vault.asked('/auth/token/renew-self'), vault.asked('/auth/approle/login')], [1, 1]);
    vault.revokeTokens();
    moveOn(vault.leaseSeconds * 700);
    await requireValid(signer, randomBytes(32));
    assert.deepEqual([vault.asked('/auth/token/renew-self'), vault.asked('/auth/approle/login')], [2, 2]);
  });

  it('token: a revoked one is replaced within the same signature', async (test) => {
    const { vault, open } = await startRig(test);
    const signer = await open();
    vault.revokeTokens();
    await Promise.all(Array.from({ length: 10 }, () => requireValid(signer, randomBytes(32))));
    assert.equal(vault.asked('/auth/approle/login'), 2);
  });

  it('token: no error quotes one that was replaced while its call was under way, and no error a credential in the place of a type', async (test) => {
    const { vault, provider } = await startRig(test);
    await provider.publicKey(AbortSignal.timeout(60_000));
    const held: (() => void)[] = [];
    vault.intercept = ({ headers }, response) => {
      held.push(() => void response.writeHead(500).end(`you sent ${headers['x-vault-token']}`));
      return true;
    };
    const slow = provider.sign(randomBytes(32), AbortSignal.timeout(60_000));
    await waitFor('the slow call', () => held[0]);
    vault.intercept = null;
    vault.revokeTokens();
    await provider.sign(randomBytes(32), AbortSignal.timeout(60_000));
    held[0]?.();
    await assert.rejects(slow, { message: 'HTTP 500: you sent ***' });
    vault.intercept = ({ headers, path }, response) => {
      const type = `${headers['x-vault-token']} ${vault.secretId} ${'x'.repeat(10_000)}`;
      if (path?.includes('/keys/') === true) response.writeHead(200).end(JSON.stringify({ data: { type } }));
      return path?.includes('/keys/') === true;
    };
    await assert.rejects(provider.publicKey(AbortSignal.timeout(60_000)), {
      message: /^the key is of type \*\*\* \*\*\* x{1,300}; Vault/,
    });
  });

  it('a revoked AppRole: the signer is unavailable until it is back', async (test) => {
    const { vault, open } = await startRig(test);
    const signer = await open();
    vault.revokeTokens();
    vault.isRoleRevoked = true;
    await assert.rejects(requireValid(signer, randomBytes(32)), {
      reason: 'SIGNER_UNAVAILABLE',
      message: 'signer s cannot sign now: Vault Transit refuses to sign with this key',
    });
  });

  it('a rotated key: the version with the configured public key goes on signing', async (test) => {
    const { vault, open } = await startRig(test);
    const signer = await open();
    vault.transit.get('transit/keys/app')?.versions.push(fakeKey('ed25519'));
    await requireValid(signer, randomBytes(32));
  });

  it('a policy that only allows to sign is enough', async (test) => {
    const { vault, open } = await startRig(test);
    vault.mayReadKeys = false;
    await requireValid(await open(), randomBytes(32));
  });

  it('a policy that only allows to sign: another public key is refused at the start, so that no money goes to its address', async (test) => {
    const { vault, provider } = await startRig(test);
    vault.mayReadKeys = false;
    vault.transit.get('transit/keys/app')?.versions.push(fakeKey('ed25519'));
    await assert.rejects(provider.publicKey(AbortSignal.timeout(60_000)), {
      problem: 'refused',
      message: /^pubkey is .*, but the newest version of the key has another public key$/,
    });
  });

  it('another public key than the configured one is refused, and a key of another type', async (test) => {
    const { vault, provider } = await startRig(test);
    const key = vault.transit.get('transit/keys/app');
    assert.ok(key !== undefined);
    const right = key.versions.splice(0);
    key.versions.push(fakeKey('ed25519'));
    const shown = Buffer.from(key.versions[0]?.publicKey.bytes ?? []).toString('base64');
    await assert.rejects(provider.publicKey(AbortSignal.timeout(60_000)), {
      problem: 'refused',
      message: `pubkey is ${Buffer.from(right[0]?.publicKey.bytes ?? []).toString('base64')}, but the key has the public key ${shown}`,
    });
    key.type = 'ecdsa-p256';
    await assert.rejects(provider.publicKey(AbortSignal.timeout(60_000)), {
      message:
        'the key is of type ecdsa-p256; Vault Transit signs for Stellar and Solana with ed25519 keys, and has no secp256k1 keys for EVM networks',
    });
  });

  for (const [status, problem] of [
    [429, 'throttled'],
    [500, 'unreachable'],
    [503, 'unreachable'],
    [400, 'refused'],
    [307, 'refused'],
  ] as const)
    it(`HTTP ${status}: is ${problem}, and its text does not contain the credentials`, async (test) => {
      const { vault, provider, open } = await startRig(test);
      await open();
      vault.intercept = ({ headers }, response) => {
        const text = `you sent ${headers['x-vault-token']} for ${vault.roleId}`;
        response.writeHead(status, { 'retry-after': '2', location: 'http://127.0.0.1:9/' }).end(text);
        return true;
      };
      await assert.rejects(provider.sign(randomBytes(32), AbortSignal.timeout(60_000)), {
        problem,
        retryAfterMs: 2_000,
        message: `HTTP ${status}: you sent *** for ***`,
      });
    });

  it('Retry-After: a date is a wait too, at most a minute', async (test) => {
    const { vault, provider, open } = await startRig(test);
    await open();
    let date = new Date(Date.now() + 30_000).toUTCString();
    vault.intercept = (_, response) => {
      response.writeHead(429, { 'retry-after': date }).end();
      return true;
    };
    const waitMs = (): Promise<number> =>
      provider.sign(randomBytes(32), AbortSignal.timeout(60_000)).then(
        () => assert.fail('it signed'),
        ({ retryAfterMs }) => retryAfterMs,
      );
    const soonMs = await waitMs();
    assert.ok(soonMs > 20_000 && soonMs <= 30_000, `${soonMs} ms`);
    date = 'Fri, 01 Jan 2100 00:00:00 GMT';
    assert.equal(await waitMs(), 60_000);
  });
});
