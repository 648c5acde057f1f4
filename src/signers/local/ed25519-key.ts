import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';

/** The bytes before the 32 bytes of a seed in PKCS #8 (RFC 8410). */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Makes the private key from a seed. Throws if the seed does not have 32 bytes. */
export function keyFromSeed(seed: Uint8Array): KeyObject {
  if (seed.length !== 32) throw new Error(`an ed25519 seed has 32 bytes, not ${seed.length}`);
  const der = Buffer.concat([pkcs8Prefix, seed]);
  try {
    return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  } finally {
    der.fill(0);
  }
}

/** Returns the 32 bytes of the public key. */
export function publicKeyOf(key: KeyObject): Buffer {
  // The key is the last field of SubjectPublicKeyInfo.
  return createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32);
}
