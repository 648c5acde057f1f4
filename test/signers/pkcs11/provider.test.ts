import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { keyKinds } from '../../../src/app/key-kinds.js';
import type { Signer } from '../../../src/core/ports/signer.js';
import type { Curve } from '../../../src/core/records/network.js';
import { systemClock } from '../../../src/core/work/clock.js';
import { systemTimers } from '../../../src/core/work/timers.js';
import { createHostedSigner } from '../../../src/signers/hosted/hosted-signer.js';
import type { KeyProvider, PublicKey } from '../../../src/signers/hosted/key-provider.js';
import { createProviderGate } from '../../../src/signers/hosted/provider-gate.js';
import { createPkcs11Provider, type Pkcs11Key } from '../../../src/signers/pkcs11/provider.js';
import { hexFrom, vectors } from '../../contracts/hosted-key.contract.js';
import { requireValid, signerContract } from '../../contracts/signer.contract.js';
import { fakeKey } from '../../support/fake-provider.js';
import { fixedSecrets } from '../../support/fixed-secrets.js';
import { type KnownKey, noSoftHsm, softHsm } from '../../support/soft-hsm.js';
import { silentLog } from '../../support/stored-samples.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { waitFor } from '../../support/wait-for.js';

interface Test {
  after(task: () => unknown): void;
}

async function providerOf(curve: Curve, test: Test, changes: Partial<Pkcs11Key> = {}): Promise<KeyProvider> {
  const { modulePath, tokenLabel, pin, labelOf } = await softHsm();
  const provider = createPkcs11Provider(
    {
      modulePath,
      tokenLabel,
      slot: null,
      keyLabel: labelOf(curve),
      keyId: null,
      secrets: fixedSecrets({ pin }),
      ...changes,
    },
    keyKinds.pkcs11.limits,
  );
  test.after(() => provider.close());
  return provider;
}

/** `known`: the public key of an earlier start. */
async function open(curve: Curve, test: Test, changes: Partial<Pkcs11Key> = {}, known?: PublicKey): Promise<Signer> {
  const provider = await providerOf(curve, test, changes);
  const time = { clock: systemClock, timers: systemTimers };
  const publicKey = known ?? (await provider.publicKey(AbortSignal.timeout(60_000)));
  const parts = { id: 's', provider, publicKey, gate: createProviderGate(provider.limits, time), time, log: silentLog };
  return createHostedSigner(parts).signer;
}

function newKey(curve: Curve): KnownKey {
  const privateKey = randomBytes(32);
  return { curve, privateKey, publicKey: fakeKey(curve, privateKey).publicKey.bytes };
}

signerContract({ kind: 'pkcs11', curves: ['secp256k1', 'ed25519'], open, skip: noSoftHsm });

describe('PKCS #11 on SoftHSM', { skip: noSoftHsm ?? false }, () => {
  it('1,000 signatures at once, half on each curve, are all valid', async (test) => {
    const signers = [await open('secp256k1', test), await open('ed25519', test)];
    const providers = [await providerOf('secp256k1', test), await providerOf('ed25519', test)];
    assert.equal(providers[0]?.account, providers[1]?.account);
    // In parts, since a signature that waits for 10 s fails.
    for (let part = 0; part < 10; part += 1)
      await Promise.all(signers.flatMap((signer) => Array.from({ length: 50 }, () => requireValid(signer, randomBytes(32)))));
  });

  it('1,000 calls of the module at once, without the wrapper, crash nothing', async (test) => {
    const provider = await providerOf('secp256k1', test);
    const signatures = await Promise.all(Array.from({ length: 1_000 }, () => provider.sign(randomBytes(32), AbortSignal.timeout(120_000))));
    assert.ok(signatures.every(({ length }) => length === 64));
  });

  for (const curve of ['secp256k1', 'ed25519'] as const) {
    it(`a published ${curve} key has its published public key, and its signature if that has only one`, async (test) => {
      const hsm = await softHsm();
      const { privateKey, publicKey, input, signature } = vectors[curve];
      const keyLabel = `published-${curve}`;
      hsm.addKey(keyLabel, { curve, privateKey: Buffer.from(privateKey, 'hex'), publicKey: Buffer.from(publicKey, 'hex') });
      const { bytes } = await (await providerOf(curve, test, { keyLabel })).publicKey(AbortSignal.timeout(60_000));
      assert.equal(Buffer.from(bytes).toString('hex'), publicKey);
      const signer = await open(curve, test, { keyLabel });
      // SoftHSM's secp256k1 signatures are random.
      if (curve === 'ed25519') assert.equal(await hexFrom(signer, Buffer.from(input, 'hex')), signature);
      else await requireValid(signer, Buffer.from(input, 'hex'));
    });

    it(`a public ${curve} key of an earlier key with the same label is not used, so that no money goes to its address`, async (test) => {
      const hsm = await softHsm();
      const [key, earlier] = [newKey(curve), newKey(curve)];
      hsm.addKey(`replaced-${curve}`, key, earlier.publicKey);
      const replaced = await providerOf(curve, test, { keyLabel: `replaced-${curve}` });
      const { bytes } = await replaced.publicKey(AbortSignal.timeout(60_000));
      assert.equal(Buffer.from(bytes).toString('hex'), Buffer.from(key.publicKey).toString('hex'));
      hsm.addKey(`wrong-${curve}`, { ...key, publicKey: earlier.publicKey });
      const wrong = await providerOf(curve, test, { keyLabel: `wrong-${curve}` });
      await assert.rejects(wrong.publicKey(AbortSignal.timeout(60_000)), {
        problem: 'refused',
        message: /^the public key on the token does not belong to the private key/,
      });
    });

    it(`a label that moves to another ${curve} key: its signatures are not used`, async (test) => {
      const hsm = await softHsm();
      const keyLabel = `moved-${curve}`;
      hsm.addKey(keyLabel, newKey(curve));
      const provider = await providerOf(curve, test, { keyLabel });
      const known = await provider.publicKey(AbortSignal.timeout(60_000));
      await provider.close();
      hsm.relabel(keyLabel, `${keyLabel}-away`);
      hsm.addKey(keyLabel, newKey(curve));
      await assert.rejects(requireValid(await open(curve, test, { keyLabel }, known), randomBytes(32)), {
        reason: 'SIGNER_UNAVAILABLE',
        message: 'signer s cannot sign now: the HSM returned a signature that is not valid for the key of this signer',
      });
    });
  }

  it('a call that waits for a thread ends when its signal aborts, and the threads serve the others', async (test) => {
    const provider = await providerOf('secp256k1', test);
    const signal = AbortSignal.timeout(60_000);
    await provider.publicKey(signal);
    const others = Array.from({ length: 20 }, () => provider.sign(randomBytes(32), signal));
    const calling = new AbortController();
    const given = provider.sign(randomBytes(32), calling.signal);
    calling.abort();
    await assert.rejects(given, { name: 'ProviderError', problem: 'unreachable' });
    await Promise.all(others);
  });

  it('a key is found by its id too', async (test) => {
    const keyId = Buffer.from('ed25519').toString('hex');
    const byId = await providerOf('ed25519', test, { keyLabel: null, keyId });
    const byLabel = await providerOf('ed25519', test);
    const signal = AbortSignal.timeout(60_000);
    assert.deepEqual(await byId.publicKey(signal), await byLabel.publicKey(signal));
  });

  it('a token that is removed and comes back: signatures fail meanwhile, and succeed afterwards', async (test) => {
    const hsm = await softHsm();
    const signer = await open('secp256k1', test);
    await requireValid(signer, randomBytes(32));
    await hsm.remove();
    try {
      await waitFor('a signature to fail', () =>
        requireValid(signer, randomBytes(32)).then(
          () => undefined,
          (error: unknown) => {
            assert.match(String(error), /signer s cannot sign now: the HSM is not reachable/);
            return true;
          },
        ),
      );
    } finally {
      await hsm.insert();
    }
    await waitFor('a signature to succeed', () =>
      requireValid(signer, randomBytes(32))
        .then(() => true as const)
        .catch(() => undefined),
    );
  });

  it('a missing key, token or module is named', async (test) => {
    const signal = AbortSignal.timeout(60_000);
    const noKey = await providerOf('secp256k1', test, { keyLabel: 'nothing' });
    await assert.rejects(noKey.publicKey(signal), { message: 'the token has no private key with the label "nothing"' });
    const noToken = await providerOf('secp256k1', test, { tokenLabel: 'gone' });
    await assert.rejects(noToken.publicKey(signal), { problem: 'unreachable', message: 'no token with the label "gone" is present' });
    const noModule = await providerOf('secp256k1', test, { modulePath: '/nowhere/module.so' });
    await assert.rejects(noModule.publicKey(signal), {
      problem: 'refused',
      message: /^the module cannot be loaded, or the package pkcs11js/,
    });
  });

  it('a token that is away fails no signer of another token, also if both log in at the same time', async (test) => {
    const away = await providerOf('secp256k1', test, { tokenLabel: 'gone' });
    const present = await providerOf('secp256k1', test);
    const signal = AbortSignal.timeout(30_000);
    for (let round = 0; round < 20; round += 1) {
      const [first, second, third] = await Promise.allSettled([away.publicKey(signal), present.publicKey(signal), away.publicKey(signal)]);
      assert.deepEqual([first.status, second.status, third.status], ['rejected', 'fulfilled', 'rejected'], `round ${round}`);
    }
  });

  it('each wrong PIN is sent once, also if several signers of a token have different ones', async (test) => {
    const signal = AbortSignal.timeout(60_000);
    const wrong = [
      await providerOf('secp256k1', test, { secrets: fixedSecrets({ pin: 'wrong-one' }) }),
      await providerOf('secp256k1', test, { secrets: fixedSecrets({ pin: 'wrong-two' }) }),
    ];
    for (const provider of wrong) await assert.rejects(provider.publicKey(signal), { message: /^the token rejects the PIN/ });
    for (const provider of wrong)
      await assert.rejects(provider.publicKey(signal), { message: /^the token rejected the PIN, so the service does not send it again/ });
  });

  it('a wrong PIN is refused also while another signer is logged in to the token', async (test) => {
    const signal = AbortSignal.timeout(60_000);
    await (await providerOf('secp256k1', test)).publicKey(signal);
    const wrong = await providerOf('secp256k1', test, { secrets: fixedSecrets({ pin: 'wrong-pin' }) });
    await assert.rejects(wrong.publicKey(signal), {
      problem: 'refused',
      message: /^another signer is logged in to the token with another PIN/,
    });
  });

  it('a wrong PIN is sent once, and not again, since tokens lock after a few', async (test) => {
    // The process must not be logged in.
    const wrong = await providerOf('secp256k1', test, { secrets: fixedSecrets({ pin: 'wrong-pin' }) });
    const signal = AbortSignal.timeout(60_000);
    await assert.rejects(wrong.publicKey(signal), { problem: 'refused', message: /^the token rejects the PIN: CKR_PIN_INCORRECT/ });
    for (let round = 0; round < 3; round += 1)
      await assert.rejects(wrong.publicKey(signal), { message: /^the token rejected the PIN, so the service does not send it again/ });
    await wrong.close();
    await requireValid(await open('secp256k1', test), randomBytes(32));
  });

  it('a wrong PIN is noticed also if the process is already logged in to the token', async (test) => {
    const hsm = await softHsm();
    hsm.logIn();
    const wrong = await providerOf('secp256k1', test, { secrets: fixedSecrets({ pin: 'wrong-again' }) });
    await assert.rejects(wrong.publicKey(AbortSignal.timeout(60_000)), { message: /^the token rejects the PIN: CKR_PIN_INCORRECT/ });
    hsm.logIn();
    await requireValid(await open('secp256k1', test), randomBytes(32));
  });

  it('the process is logged out when the last signer of the module closes, also if the library stays loaded', async (test) => {
    const hsm = await softHsm();
    hsm.logIn();
    const [first, second] = [await providerOf('secp256k1', test), await providerOf('ed25519', test)];
    const signal = AbortSignal.timeout(60_000);
    for (const provider of [first, second]) await provider.publicKey(signal);
    await first.close();
    assert.equal(hsm.isLoggedIn(), true);
    await second.sign(randomBytes(32), signal);
    await second.close();
    await waitFor('the end of the login', () => !hsm.isLoggedIn() || undefined);
  });

  it('a wrong PIN is refused also if the other signer names the token or the module differently, and that one goes on signing', async (test) => {
    const hsm = await softHsm();
    const folder = await temporaryFolder({});
    const link = join(folder, 'module.so');
    await symlink(hsm.modulePath, link);
    const signal = AbortSignal.timeout(60_000);
    const first = await providerOf('secp256k1', test);
    await first.publicKey(signal);
    const secrets = fixedSecrets({ pin: 'wrong-pin' });
    for (const names of [{ tokenLabel: null, slot: hsm.slot() }, { modulePath: link }]) {
      const wrong = await providerOf('secp256k1', test, { ...names, secrets });
      await assert.rejects(wrong.publicKey(signal), { problem: 'refused' }, JSON.stringify(names));
      await first.sign(randomBytes(32), signal);
      const right = await providerOf('secp256k1', test, names);
      await right.sign(randomBytes(32), signal);
      await first.sign(randomBytes(32), signal);
    }
  });

  it('a PIN that the token rejected is not sent again after all signers were closed', async (test) => {
    const signal = AbortSignal.timeout(60_000);
    const secrets = fixedSecrets({ pin: 'wrong-for-ever' });
    const wrong = await providerOf('secp256k1', test, { secrets });
    await assert.rejects(wrong.publicKey(signal), { message: /^the token rejects the PIN/ });
    await wrong.close();
    const again = await providerOf('secp256k1', test, { secrets });
    await assert.rejects(again.publicKey(signal), { message: /^the token rejected the PIN, so the service does not send it again/ });
  });

  it('a module that could not be initialized while its tokens were away is initialized when they are back', async (test) => {
    const hsm = await softHsm();
    const provider = await providerOf('secp256k1', test);
    const signal = AbortSignal.timeout(60_000);
    await provider.publicKey(signal);
    await hsm.whileBroken(() =>
      waitFor('the module to refuse', () =>
        provider.sign(randomBytes(32), signal).then(
          () => undefined,
          (error: unknown) => (String(error).includes('CKR_GENERAL_ERROR') ? true : undefined),
        ),
      ),
    );
    await waitFor('a signature', () => provider.sign(randomBytes(32), signal).catch(() => undefined));
  });

  it('a module that hangs while its signers close: the next signer waits for it, and its wrong PIN is noticed', async (test) => {
    const hsm = await softHsm();
    const { hangs, goOn } = hsm.hang();
    const hanging = await providerOf('secp256k1', test);
    const lost = assert.rejects(hanging.publicKey(AbortSignal.timeout(60_000)));
    await hangs();
    await hanging.close();
    const signal = AbortSignal.timeout(60_000);
    const right = await providerOf('secp256k1', test);
    const wrong = await providerOf('secp256k1', test, { secrets: fixedSecrets({ pin: 'wrong-later' }) });
    const outcomes = Promise.allSettled([wrong.publicKey(signal), right.publicKey(signal)]);
    await goOn();
    assert.deepEqual(
      (await outcomes).map(({ status }) => status),
      ['rejected', 'fulfilled'],
    );
    await lost;
  });

  it('a call that is given up while all threads are busy takes no thread from the calls that wait', async (test) => {
    const provider = await providerOf('secp256k1', test);
    const signal = AbortSignal.timeout(60_000);
    await provider.publicKey(signal);
    const calls = Array.from({ length: 8 }, () => provider.sign(randomBytes(32), signal));
    await assert.rejects(provider.sign(randomBytes(32), AbortSignal.abort()), { problem: 'unreachable' });
    await Promise.all(calls);
  });
});
