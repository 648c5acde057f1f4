import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import type { Signer } from '../../src/core/ports/signer.js';
import type { Curve } from '../../src/core/records/network.js';
import { systemClock } from '../../src/core/work/clock.js';
import { systemTimers, type Timers } from '../../src/core/work/timers.js';
import { createHostedSigner } from '../../src/signers/hosted/hosted-signer.js';
import type { KeyProvider } from '../../src/signers/hosted/key-provider.js';
import { createProviderGate } from '../../src/signers/hosted/provider-gate.js';
import { type FakeKey, fakeKey } from '../support/fake-provider.js';
import type { ReceivedRequest } from '../support/http-receiver.js';
import { silentLog } from '../support/stored-samples.js';
import { waitFor } from '../support/wait-for.js';
import { requireValid, signerContract } from './signer.contract.js';

type Test = { after(task: () => unknown): void };

/** One key of a provider, and the fake server that has it. */
export interface HostedRig {
  readonly provider: KeyProvider;
  readonly server: { intercept: ((request: ReceivedRequest, response: ServerResponse) => boolean) | null };
  readonly key: FakeKey;
  /** Lets the name of the key lead to another key. */
  moveAlias(key: FakeKey): void;
}

/** A kind of hosted key whose provider answers over HTTP. */
export interface HostedCase {
  readonly kind: string;
  readonly curves: readonly Curve[];
  /** `key`: the key that the provider has; absent: a new one. */
  start(curve: Curve, test: Test, key?: FakeKey): Promise<HostedRig>;
  /** See `SignerCase`. */
  readonly messageOf?: (bytes: number) => Uint8Array;
  /** What the provider answers to a call beyond its limits. */
  readonly throttled: { readonly status: number; readonly body: object };
  /** What the provider answers if the credentials may not use the key. */
  readonly refused: { readonly status: number; readonly body: object };
  /** Texts that no error may contain. */
  readonly secrets: (rig: HostedRig) => readonly string[];
}

/** Published signatures. secp256k1: the deterministic one of RFC 6979 that implementations of Bitcoin share. ed25519: test 2 of RFC 8032, section 7.1. */
export const vectors: Readonly<Record<Curve, Readonly<Record<'privateKey' | 'input' | 'signature' | 'publicKey', string>>>> = {
  secp256k1: {
    privateKey: '1'.padStart(64, '0'),
    publicKey:
      '0479be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8',
    input: createHash('sha256').update('Satoshi Nakamoto').digest('hex'),
    signature:
      '934b1ea10a4b3c1757e2b0c017d0b6143ce3c9a7e6a4a49860d7a6ab210ee3d82442ce9d2b916064108014783e923ec36b49743e2ffa1c4496f01a512aafd9e5',
  },
  ed25519: {
    privateKey: '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb',
    publicKey: '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
    input: '72',
    signature:
      '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
  },
};

/** Timers for many calls at once, whose deadlines depend on the speed of the machine: those of seconds take longer. */
const patientTimers: Timers = { after: (ms, task) => systemTimers.after(ms < 5_000 ? ms : 20 * ms, task) };

/** Makes the signer of a provider's key. It is closed after the test. */
export async function openSigner(provider: KeyProvider, test: Test, timers = systemTimers): Promise<Signer> {
  const time = { clock: systemClock, timers };
  const gate = createProviderGate(provider.limits, time);
  const publicKey = await provider.publicKey(AbortSignal.timeout(60_000));
  const { signer, close } = createHostedSigner({ id: 's', provider, publicKey, gate, time, log: silentLog });
  test.after(close);
  return signer;
}

/** Returns r and s. */
export async function hexFrom(signer: Signer, input: Uint8Array): Promise<string> {
  if (signer.curve === 'ed25519') return Buffer.from(await signer.sign(input)).toString('hex');
  const { r, s } = await signer.signDigest(input);
  return r + s;
}

/** Headers with credentials, the last word of each. AWS signs each request instead. */
const credentialHeaders = ['authorization', 'x-vault-token', 'x-stamp', 'x-wallet-auth', 'x-amz-security-token'];

/** The tests that every kind of key must pass whose provider answers over HTTP. */
export function hostedKeyContract({ kind, curves, start, messageOf, throttled, refused, secrets }: HostedCase): void {
  const open = async (curve: Curve, test: Test) => openSigner((await start(curve, test)).provider, test, patientTimers);
  signerContract({ kind, curves, messageOf, open });

  describe(`hosted keys: ${kind}`, () => {
    const [first = 'secp256k1'] = curves;

    function answerWith(rig: HostedRig, { status, body }: { readonly status: number; readonly body: object }): { count: number } {
      const seen = { count: 0 };
      rig.server.intercept = (_, response) => {
        seen.count += 1;
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
        return true;
      };
      return seen;
    }

    for (const curve of curves)
      it(`${kind}: gives the published ${curve} signature, whether the provider returns high or low s`, async (test) => {
        const { privateKey, publicKey, input, signature } = vectors[curve];
        const rig = await start(curve, test, fakeKey(curve, Buffer.from(privateKey, 'hex')));
        const read = await rig.provider.publicKey(AbortSignal.timeout(60_000));
        assert.equal(Buffer.from(read.bytes).toString('hex'), publicKey);
        const signer = await openSigner(rig.provider, test);
        const returned = new Set<string>();
        for (let round = 0; round < 2; round += 1) {
          returned.add(Buffer.from(await rig.provider.sign(Buffer.from(input, 'hex'), AbortSignal.timeout(60_000))).toString('hex'));
          assert.equal(await hexFrom(signer, Buffer.from(input, 'hex')), signature);
          // The fakes return high and low s in turn, so each round must be an odd number of signatures.
          await rig.provider.sign(Buffer.from(input, 'hex'), AbortSignal.timeout(60_000));
        }
        assert.equal(returned.size, curve === 'ed25519' ? 1 : 2, 'both forms were seen');
      });

    for (const curve of curves)
      it(`${kind}: reads the public key of a ${curve} key`, async (test) => {
        const { provider, key } = await start(curve, test);
        const { curve: found, bytes } = await provider.publicKey(AbortSignal.timeout(60_000));
        assert.deepEqual([found, Buffer.from(bytes).toString('hex')], [curve, Buffer.from(key.publicKey.bytes).toString('hex')]);
      });

    for (const curve of curves)
      it(`${kind}: signs with a ${curve} key after a start without the provider, when only its public key is known`, async (test) => {
        const { provider, key } = await start(curve, test);
        const time = { clock: systemClock, timers: systemTimers };
        const gate = createProviderGate(provider.limits, time);
        const parts = { id: 's', provider, publicKey: key.publicKey, gate, time, log: silentLog };
        const { signer, close } = createHostedSigner(parts);
        test.after(close);
        await requireValid(signer, curve === 'ed25519' && messageOf !== undefined ? messageOf(32) : randomBytes(32));
      });

    it(`${kind}: a throttled call is reported as such, and the signature is given when the provider allows it`, async (test) => {
      const rig = await start(first, test);
      const signer = await openSigner(rig.provider, test);
      const seen = answerWith(rig, throttled);
      await assert.rejects(rig.provider.sign(randomBytes(32), AbortSignal.timeout(60_000)), {
        name: 'ProviderError',
        problem: 'throttled',
      });
      const before = seen.count;
      const signed = requireValid(signer, randomBytes(32));
      await waitFor('a throttled call', async () => (seen.count > before ? true : undefined));
      rig.server.intercept = null;
      await signed;
    });

    it(`${kind}: a refused call is not repeated, and makes the signer unavailable`, async (test) => {
      const rig = await start(first, test);
      const signer = await openSigner(rig.provider, test);
      answerWith(rig, refused);
      await assert.rejects(rig.provider.sign(randomBytes(32), AbortSignal.timeout(60_000)), { name: 'ProviderError', problem: 'refused' });
      await assert.rejects(requireValid(signer, randomBytes(32)), {
        reason: 'SIGNER_UNAVAILABLE',
        message: `signer s cannot sign now: ${rig.provider.name} refuses to sign with this key`,
      });
    });

    it(`${kind}: a broken connection, HTTP 500 and an answer without content are outages, and the signature follows`, async (test) => {
      const rig = await start(first, test);
      const signer = await openSigner(rig.provider, test);
      const outages: readonly ((response: ServerResponse) => unknown)[] = [
        (response) => response.destroy(),
        (response) => response.writeHead(500).end('{"message":"internal"}'),
        (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'),
        (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>login</html>'),
      ];
      for (const outage of outages) {
        rig.server.intercept = (_, response) => {
          outage(response);
          return true;
        };
        const failed = rig.provider.sign(randomBytes(32), AbortSignal.timeout(60_000));
        await assert.rejects(failed, { name: 'ProviderError', problem: 'unreachable' });
      }
      rig.server.intercept = null;
      await requireValid(signer, randomBytes(32));
    });

    it(`${kind}: a call that gets no answer ends when its signal aborts`, async (test) => {
      const rig = await start(first, test);
      await openSigner(rig.provider, test);
      const calling = new AbortController();
      let isAsked = false;
      rig.server.intercept = () => {
        isAsked = true;
        return true;
      };
      const call = rig.provider.sign(randomBytes(32), calling.signal);
      await Promise.all([
        assert.rejects(call),
        waitFor('the request', async () => (isAsked ? true : undefined)).then(() => calling.abort()),
      ]);
    });

    it(`${kind}: a signature of another key, to which the name of the key leads now, is not used`, async (test) => {
      const rig = await start(first, test);
      const signer = await openSigner(rig.provider, test);
      rig.moveAlias(fakeKey(first));
      await assert.rejects(requireValid(signer, randomBytes(32)), { reason: 'SIGNER_UNAVAILABLE' });
    });

    it(`${kind}: no error contains a credential, even if the provider quotes the request`, async (test) => {
      const rig = await start(first, test);
      await openSigner(rig.provider, test);
      const sent: string[] = [];
      for (const status of [400, 401, 403, 429, 500]) {
        rig.server.intercept = ({ headers, body }, response) => {
          sent.push(
            ...credentialHeaders
              .flatMap((name) => headers[name]?.toString().split(' ').at(-1) ?? [])
              .filter((word) => !word.startsWith('Signature=')),
          );
          const text = `${Object.values(headers).join(' ')} ${secrets(rig).join(' ')} ${body.toString()}`;
          response
            .writeHead(status, { 'content-type': 'application/json' })
            .end(JSON.stringify({ __type: 'Quoted', message: text, error: text }));
          return true;
        };
        const error: unknown = await rig.provider.sign(randomBytes(32), AbortSignal.timeout(60_000)).catch((one: unknown) => one);
        assert.ok(error instanceof Error && error.name === 'ProviderError', String(error));
        for (const secret of [...secrets(rig), ...sent])
          assert.ok(!`${error.stack} ${JSON.stringify(error)}`.includes(secret), `${status}: ${error.message}`);
        assert.equal(error.cause, undefined);
      }
    });
  });
}
