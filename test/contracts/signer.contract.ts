import assert from 'node:assert/strict';
import { createPublicKey, randomBytes, verify } from 'node:crypto';
import { describe, it } from 'node:test';
import { computeAddress } from 'ethers';
import type { Signer } from '../../src/core/ports/signer.js';
import type { Curve } from '../../src/core/records/network.js';
import { secp256k1 } from '../../src/crypto/secp256k1.js';

/** The order of secp256k1. */
const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/** A kind of key to test. */
export interface SignerCase {
  readonly kind: string;
  readonly curves: readonly Curve[];
  /** Opens a signer with a key of this curve; it is closed after the test. Undefined: it is missing on this machine. */
  open(curve: Curve, test: { after(task: () => unknown): void }): Promise<Signer>;
  /** Makes a message for an ed25519 key that signs not all bytes; absent: it signs all. */
  readonly messageOf?: ((bytes: number) => Uint8Array) | undefined;
  /** Why the kind cannot be tested on this machine; absent: it can. */
  readonly skip?: string | undefined;
}

/** The tests that every kind of key must pass. */
export function signerContract({ kind, curves, open, messageOf = randomBytes, skip }: SignerCase): void {
  describe(`signers: ${kind}`, { skip: skip ?? false }, () => {
    for (const curve of curves) {
      it(`${kind}: 100 ${curve} signatures in parallel are valid, each for its own message`, async (test) => {
        const signer = await open(curve, test);
        const messages = Array.from({ length: 100 }, () => (curve === 'ed25519' ? messageOf(32) : randomBytes(32)));
        const checks = await Promise.all(messages.map((message) => signedBy(signer, message)));
        // Checked when all are there: the checks would take the time of the calls that are under way.
        for (const check of checks) check();
      });
    }
    if (curves.includes('ed25519'))
      it(`${kind}: signs ed25519 messages of 1 to 4000 bytes themselves, not a digest`, async (test) => {
        const signer = await open('ed25519', test);
        for (const length of [1, 32, 177, 1_232, 4_000]) await requireValid(signer, messageOf(length));
      });
  });
}

/** Throws unless the signer's signature of the message is valid. */
export async function requireValid(signer: Signer, message: Uint8Array): Promise<void> {
  (await signedBy(signer, message))();
}

/** Signs the message, and returns a check that throws unless the signature is valid. */
async function signedBy(signer: Signer, message: Uint8Array): Promise<() => void> {
  if (signer.curve === 'ed25519') {
    const x = Buffer.from(signer.publicKey).toString('base64url');
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    const signature = await signer.sign(message);
    return () => {
      assert.equal(signature.length, 64);
      assert.ok(verify(null, message, key, signature));
    };
  }
  const { r, s, v } = await signer.signDigest(message);
  return () => {
    assert.match(r + s, /^[0-9a-f]{128}$/);
    assert.ok(BigInt(`0x${s}`) <= order / 2n, 's is low');
    assert.ok(v === 27 || v === 28);
    // ethers recovers keys in JavaScript, which takes ten times as long.
    const publicKey = secp256k1.ecdsaRecover(Buffer.from(r + s, 'hex'), v - 27, message, false);
    assert.equal(computeAddress(`0x${Buffer.from(publicKey).toString('hex')}`), signer.address);
  };
}
