import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { DomainError } from '../../../src/core/errors/errors.js';
import type { Signer } from '../../../src/core/ports/signer.js';
import type { Curve } from '../../../src/core/records/network.js';
import { secp256k1 } from '../../../src/crypto/secp256k1.js';
import { createHostedSigner, type HostedSigner } from '../../../src/signers/hosted/hosted-signer.js';
import { type KeyProvider, ProviderError, type ProviderLimits } from '../../../src/signers/hosted/key-provider.js';
import { createProviderGate } from '../../../src/signers/hosted/provider-gate.js';
import { requireValid } from '../../contracts/signer.contract.js';
import { createFakeProvider, type FakeProvider, fakeKey, otherS } from '../../support/fake-provider.js';
import { createVirtualTime, type VirtualTime } from '../../support/virtual-time.js';

interface Rig extends HostedSigner {
  readonly provider: FakeProvider;
  readonly time: VirtualTime;
  readonly logged: string[];
}

function rigOf(curve: Curve, options: { form?: KeyProvider['form']; limits?: ProviderLimits } = {}): Rig {
  const provider = createFakeProvider(curve, options);
  const time = createVirtualTime();
  const logged: string[] = [];
  const note = (_: object, message: string): void => void logged.push(message);
  const log = { debug: note, info: note, warn: note, error: note };
  const gate = createProviderGate(provider.limits, time);
  const hosted = createHostedSigner({ id: 'hsm-1', provider, publicKey: provider.key.publicKey, gate, time, log });
  return { ...hosted, provider, time, logged };
}

async function bytesFrom(signer: Signer, input: Uint8Array = randomBytes(32)): Promise<unknown> {
  return signer.curve === 'ed25519' ? signer.sign(input) : signer.signDigest(input);
}

/** Rejects unless the signature fails with `SIGNER_UNAVAILABLE`; returns the sentence and the delay. */
async function refusalOf(rig: Rig, passMs = 20_000): Promise<{ sentence: string; retryAfterMs: number }> {
  const outcome = bytesFrom(rig.signer).then(
    () => null,
    (error: unknown) => error,
  );
  await rig.time.pass(passMs);
  const error = await outcome;
  assert.ok(error instanceof DomainError, String(error));
  assert.equal(error.reason, 'SIGNER_UNAVAILABLE');
  assert.equal(error.kind, 'unavailable');
  assert.deepEqual(error.metadata, { signer_id: 'hsm-1' });
  return { sentence: error.message, retryAfterMs: error.retryAfterMs ?? 0 };
}

const invalid = 'signer hsm-1 cannot sign now: the fake returned a signature that is not valid for the key of this signer';

describe('hosted signers verify what a provider returns', () => {
  it('high s is lowered, and the recovery id is found again', async () => {
    for (const form of ['fixed', 'der'] as const) {
      const { signer, provider } = rigOf('secp256k1', { form });
      let given = 0;
      provider.answer = (right) => {
        const fixed = form === 'der' ? secp256k1.signatureImport(right) : right;
        given += 1;
        return form === 'der' ? secp256k1.signatureExport(otherS(fixed)) : otherS(fixed);
      };
      for (let round = 0; round < 20; round += 1) await requireValid(signer, randomBytes(32));
      assert.equal(given, 20);
    }
  });

  const lies: readonly (readonly [string, Curve, (right: Uint8Array) => Uint8Array])[] = [
    ['a signature by another key', 'secp256k1', () => fakeKey('secp256k1').sign(randomBytes(32))],
    ['a changed bit', 'secp256k1', (right) => right.map((byte, at) => (at === 40 ? byte ^ 1 : byte))],
    ['63 bytes', 'secp256k1', (right) => right.subarray(0, 63)],
    ['65 bytes', 'secp256k1', (right) => Buffer.concat([right, Buffer.of(27)])],
    ['zeros', 'secp256k1', () => new Uint8Array(64)],
    ['the order of the curve as s', 'secp256k1', (right) => Buffer.concat([right.subarray(0, 32), Buffer.alloc(32, 0xff)])],
    ['no bytes', 'secp256k1', () => new Uint8Array(0)],
    ['a signature by another key', 'ed25519', () => fakeKey('ed25519').sign(randomBytes(32))],
    ['a changed bit', 'ed25519', (right) => right.map((byte, at) => (at === 3 ? byte ^ 1 : byte))],
    ['63 bytes', 'ed25519', (right) => right.subarray(0, 63)],
    ['65 bytes', 'ed25519', (right) => Buffer.concat([right, Buffer.of(0)])],
    ['s plus the order', 'ed25519', plusOrder],
  ];
  for (const [what, curve, lie] of lies)
    it(`${curve}: refuses ${what}`, async () => {
      const rig = rigOf(curve);
      rig.provider.answer = lie;
      assert.equal((await refusalOf(rig)).sentence, invalid);
      assert.deepEqual(rig.logged, ['the signer cannot sign; transactions that need its signature wait']);
    });

  it('secp256k1: refuses the signature of another digest', async () => {
    const rig = rigOf('secp256k1');
    rig.provider.answer = () => rig.provider.key.sign(randomBytes(32));
    assert.equal((await refusalOf(rig)).sentence, invalid);
  });

  it('DER: refuses a truncated and a prolonged signature, and r and s that are not DER', async () => {
    const lies: readonly ((right: Uint8Array) => Uint8Array)[] = [
      (right) => right.subarray(0, -1),
      (right) => Buffer.concat([right, Buffer.of(0)]),
      (right) => secp256k1.signatureImport(right),
    ];
    for (const lie of lies) {
      const rig = rigOf('secp256k1', { form: 'der' });
      rig.provider.answer = lie;
      assert.equal((await refusalOf(rig)).sentence, invalid);
    }
  });

  it('a moved alias: signatures of the new key are refused until the old one is back', async () => {
    const rig = rigOf('ed25519');
    const { key } = rig.provider;
    rig.provider.key = fakeKey('ed25519');
    assert.equal((await refusalOf(rig)).sentence, invalid);
    rig.provider.key = key;
    await rig.time.pass(60_000);
    await requireValid(rig.signer, randomBytes(32));
    assert.equal(rig.logged.at(-1), 'the signer works again');
  });
});

/** The same ed25519 signature with s + L, which careless verifiers accept. */
function plusOrder(right: Uint8Array): Uint8Array {
  const order = 2n ** 252n + 27742317777372353535851937790883648493n;
  const s = BigInt(`0x${Buffer.from(right.subarray(32)).reverse().toString('hex')}`) + order;
  return Buffer.concat([right.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse()]);
}

describe('hosted signers bound what a provider costs', () => {
  it('an unreachable provider: is called at most 3 times per request, and then only once after each pause', async () => {
    const rig = rigOf('secp256k1');
    rig.provider.answer = () => Promise.reject(new Error('ECONNREFUSED'));
    assert.match((await refusalOf(rig, 400)).sentence, /^signer hsm-1 cannot sign now: the fake is not reachable$/);
    assert.equal(rig.provider.calls.count, 3);
    const { retryAfterMs } = await refusalOf(rig, 0);
    assert.ok(retryAfterMs > 0 && retryAfterMs <= 500, `${retryAfterMs} ms`);
    assert.equal(rig.provider.calls.count, 3, 'a call while the breaker is tripped fails at once');
    await rig.time.pass(500);
    const all = Promise.all(Array.from({ length: 20 }, () => bytesFrom(rig.signer).catch(() => null)));
    await rig.time.pass(0);
    await all;
    assert.equal(rig.provider.calls.count, 4, 'one call tries the key, the others wait for its outcome');
    rig.provider.answer = null;
    await rig.time.pass(1_000);
    await Promise.all(Array.from({ length: 20 }, () => requireValid(rig.signer, randomBytes(32))));
  });

  it('a provider that never answers: the request fails within 10 s, and its place is free again', async () => {
    const rig = rigOf('secp256k1', { limits: { parallel: 1, perSecond: 1_000 } });
    rig.provider.answer = () => new Promise(() => undefined);
    const outcome = bytesFrom(rig.signer).catch((error: unknown) => error);
    await rig.time.pass(10_000);
    const error = await outcome;
    assert.ok(error instanceof DomainError);
    assert.equal(error.message, 'signer hsm-1 cannot sign now: the fake did not answer within 5 s');
    rig.provider.answer = null;
    await requireValid(rig.signer, randomBytes(32));
  });

  it('the signal of a call aborts when its time is over', async () => {
    const rig = rigOf('ed25519');
    let aborts = 0;
    rig.provider.answer = (_, signal) =>
      new Promise((_, reject) =>
        signal.addEventListener('abort', () => {
          aborts += 1;
          reject(signal.reason);
        }),
      );
    await refusalOf(rig);
    assert.equal(aborts, 2);
  });

  it('a provider that refuses the key: is not called again before the pause', async () => {
    const rig = rigOf('secp256k1');
    rig.provider.answer = () => Promise.reject(new ProviderError('refused', 'AccessDenied: arn:secret'));
    const { sentence } = await refusalOf(rig, 300);
    assert.equal(sentence, 'signer hsm-1 cannot sign now: the fake refuses to sign with this key');
    assert.equal(rig.provider.calls.count, 1);
  });

  it('a provider that allows 10 calls per second: all of 50 signatures come, within 10 s and with few throttled calls', async () => {
    const rig = rigOf('secp256k1', { limits: { parallel: 50, perSecond: 1_000 } });
    let tokens = 10;
    let atMs = 0;
    let throttled = 0;
    rig.provider.answer = () => {
      const nowMs = rig.time.clock.elapsedMs();
      tokens = Math.min(10, tokens + ((nowMs - atMs) * 10) / 1_000);
      atMs = nowMs;
      if (tokens < 1) {
        throttled += 1;
        throw new ProviderError('throttled', 'ThrottlingException');
      }
      tokens -= 1;
      return undefined;
    };
    const outcomes = Promise.all(Array.from({ length: 50 }, () => bytesFrom(rig.signer).catch(() => null)));
    await rig.time.pass(10_000);
    const signed = (await outcomes).filter((one) => one !== null).length;
    assert.ok(signed >= 45, `${signed} signatures within 10 s, ${throttled} throttled calls`);
    assert.ok(throttled < 200, `${throttled} throttled calls`);
    assert.deepEqual(rig.logged, [], 'a provider that throttles works');
  });

  it('the limit of calls at once is kept, and the requests keep their order', async () => {
    const rig = rigOf('ed25519', { limits: { parallel: 4, perSecond: 1_000_000 } });
    const started: number[] = [];
    rig.provider.answer = (_right, _signal, input) => {
      started.push(input[0] ?? 0);
      return new Promise((resolve) => rig.time.timers.after(100, () => resolve(undefined)));
    };
    const all = Promise.all(Array.from({ length: 20 }, (_, at) => bytesFrom(rig.signer, Uint8Array.of(at, 1, 2))));
    await rig.time.pass(499);
    assert.equal(rig.provider.calls.count, 20);
    await rig.time.pass(1);
    await all;
    assert.equal(rig.provider.calls.most, 4);
    assert.deepEqual(
      started,
      Array.from({ length: 20 }, (_, at) => at),
    );
  });

  it('closing ends what waits', async () => {
    const rig = rigOf('secp256k1');
    rig.provider.answer = () => new Promise(() => undefined);
    const outcome = bytesFrom(rig.signer).catch((error: unknown) => error);
    await rig.time.pass(0);
    await rig.close();
    const error = await outcome;
    assert.ok(error instanceof DomainError);
    assert.match(error.message, /the service is stopping$/);
  });
});
