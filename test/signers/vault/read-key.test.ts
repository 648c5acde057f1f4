import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { keyKinds } from '../../../src/app/key-kinds.js';
import type { Signer } from '../../../src/core/ports/signer.js';
import type { Curve } from '../../../src/core/records/network.js';
import { systemClock } from '../../../src/core/work/clock.js';
import { heldSignerFrom } from '../../../src/signers/local/open-signer.js';
import { readKey } from '../../../src/signers/vault/read-key.js';
import { createVaultClient } from '../../../src/signers/vault/vault-client.js';
import { hexFrom, vectors } from '../../contracts/hosted-key.contract.js';
import { requireValid, signerContract } from '../../contracts/signer.contract.js';
import { type FakeVault, startFakeVault } from '../../support/fake-vault.js';
import { fixedSecrets } from '../../support/fixed-secrets.js';
import { waitFor } from '../../support/wait-for.js';

type Test = { after(task: () => unknown): void };

/** Reads the secret `app` of a Vault. */
async function start(
  test: Test,
  privateKey: Uint8Array = randomBytes(32),
): Promise<{ vault: FakeVault; read: (signal?: AbortSignal) => Promise<Buffer> }> {
  const vault = await startFakeVault(test);
  vault.secrets.set('secret/data/app', { value: Buffer.from(privateKey).toString('hex') });
  const secrets = fixedSecrets({ role_id: vault.roleId, secret_id: vault.secretId });
  const client = createVaultClient({ address: vault.address, namespace: null, secrets }, systemClock, keyKinds.vault.limits);
  test.after(() => client.close());
  return { vault, read: (signal = AbortSignal.timeout(60_000)) => readKey(client, 'secret', 'app', signal) };
}

async function open(curve: Curve, test: Test, privateKey?: Uint8Array): Promise<Signer> {
  const { read } = await start(test, privateKey);
  const signer = heldSignerFrom('s', await read(), [curve]).on(curve);
  assert.ok(signer !== undefined);
  return signer;
}

signerContract({ kind: 'vault', curves: ['secp256k1', 'ed25519'], open });

describe('a key in a secret of Vault', () => {
  for (const curve of ['secp256k1', 'ed25519'] as const)
    it(`gives the published ${curve} signature`, async (test) => {
      const { privateKey, input, signature } = vectors[curve];
      const signer = await open(curve, test, Buffer.from(privateKey, 'hex'));
      assert.equal(await hexFrom(signer, Buffer.from(input, 'hex')), signature);
      await requireValid(signer, Buffer.from(input, 'hex').length === 32 ? Buffer.from(input, 'hex') : randomBytes(32));
    });

  it('a Vault that throttles, refuses or fails is reported as such, without the credentials', async (test) => {
    const { vault, read } = await start(test);
    for (const [status, problem] of [
      [429, 'throttled'],
      [403, 'refused'],
      [500, 'unreachable'],
    ] as const) {
      vault.intercept = ({ headers, body }, response) => {
        response.writeHead(status).end(`you sent ${headers['x-vault-token']} ${body}`);
        return true;
      };
      await assert.rejects(read(), (error: Error & { problem?: string }) => {
        assert.equal(error.problem, problem);
        for (const secret of [vault.roleId, vault.secretId]) assert.ok(!error.message.includes(secret), error.message);
        return true;
      });
    }
  });

  it('a read that gets no answer ends when its signal aborts', async (test) => {
    const { vault, read } = await start(test);
    await read();
    let isAsked = false;
    vault.intercept = () => {
      isAsked = true;
      return true;
    };
    const reading = new AbortController();
    const ended = assert.rejects(read(reading.signal), { problem: 'unreachable' });
    await waitFor('the request', () => isAsked || undefined);
    reading.abort();
    await ended;
  });

  it('a secret that is no key is refused by the name of its field, and not quoted', async (test) => {
    const { vault, read } = await start(test);
    for (const [secret, message] of [
      [{ value: `${'5a'.repeat(31)}5` }, 'the field "value" of the secret is not 64 hex digits'],
      [{ key: '5a'.repeat(32) }, 'the secret has no field "value" with a text'],
    ] as const) {
      vault.secrets.set('secret/data/app', secret);
      await assert.rejects(read(), { problem: 'refused', message });
    }
  });
});
