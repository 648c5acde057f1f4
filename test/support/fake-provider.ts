import { createPublicKey, type KeyObject, randomBytes, sign } from 'node:crypto';
import type { Curve } from '../../src/core/records/network.js';
import { secp256k1 } from '../../src/crypto/secp256k1.js';
import type { KeyProvider, ProviderLimits, PublicKey } from '../../src/signers/hosted/key-provider.js';
import { keyFromSeed } from '../../src/signers/local/ed25519-key.js';

/** What a fake provider answers to a signature; undefined: the right one. May throw, and may take time. */
export type FakeAnswer = (
  right: Uint8Array,
  signal: AbortSignal,
  input: Uint8Array,
) => Promise<Uint8Array | undefined> | Uint8Array | undefined;

/** A provider in this process with a real key, strict about its inputs. */
export interface FakeProvider extends KeyProvider {
  /** The key that it has now. */
  key: FakeKey;
  /** Changes the answers; null: all are right. */
  answer: FakeAnswer | null;
  /** Calls so far, calls under way, and the maximum that were under way at once. */
  readonly calls: { count: number; running: number; most: number };
}

/** A key pair that signs as providers do. */
export interface FakeKey {
  readonly publicKey: PublicKey;
  sign(bytes: Uint8Array): Uint8Array;
}

/** Makes a key, of these 32 bytes if they are given. secp256k1 signatures have r and s in 32 bytes each, and low s. */
export function fakeKey(curve: Curve, privateKey: Uint8Array = randomBytes(32)): FakeKey {
  if (curve === 'ed25519') return ed25519Key(keyFromSeed(privateKey));
  return {
    publicKey: { curve, bytes: secp256k1.publicKeyCreate(privateKey, false) },
    sign: (digest) => secp256k1.ecdsaSign(digest, privateKey).signature,
  };
}

function ed25519Key(key: KeyObject): FakeKey {
  const bytes = createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32);
  return { publicKey: { curve: 'ed25519', bytes }, sign: (message) => Uint8Array.from(sign(null, message, key)) };
}

/** Makes the provider. */
export function createFakeProvider(
  curve: Curve,
  { form = 'fixed', limits = { parallel: 64, perSecond: 100_000 } }: { form?: KeyProvider['form']; limits?: ProviderLimits } = {},
): FakeProvider {
  const calls = { count: 0, running: 0, most: 0 };
  const provider: FakeProvider = {
    name: 'the fake',
    account: 'fake',
    limits,
    form,
    key: fakeKey(curve),
    answer: null,
    calls,
    publicKey: async () => provider.key.publicKey,
    async sign(bytes, signal) {
      if (curve === 'secp256k1' && bytes.length !== 32) throw new Error(`a digest has 32 bytes, not ${bytes.length}`);
      calls.count += 1;
      calls.running += 1;
      calls.most = Math.max(calls.most, calls.running);
      try {
        const fixed = provider.key.sign(bytes);
        const right = form === 'der' ? secp256k1.signatureExport(fixed) : fixed;
        return (await provider.answer?.(right, signal, bytes)) ?? right;
      } finally {
        calls.running -= 1;
      }
    },
    close: async () => undefined,
  };
  return provider;
}

const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/** The same secp256k1 signature with its other s: as valid, but refused by EVM networks if it is the high one. */
export function otherS(signature: Uint8Array): Uint8Array {
  const s = order - BigInt(`0x${Buffer.from(signature.subarray(32)).toString('hex')}`);
  return Buffer.concat([signature.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, '0'), 'hex')]);
}
