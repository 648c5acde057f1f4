import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';

/** What stands before the 32 bytes of a seed in PKCS #8 (RFC 8410). */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');

/** The private key of a seed. Throws when the seed has not 32 bytes. */
export function keyFromSeed(seed: Uint8Array): KeyObject {
  if (seed.length !== 32) throw new Error('an ed25519 seed has 32 bytes');
  const der = Buffer.concat([pkcs8Prefix, seed]);
  try {
    return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  } finally {
    der.fill(0);
  }
}

/** The 32 bytes of the public key. */
export function publicKeyOf(key: KeyObject): Buffer {
  // The last field of SubjectPublicKeyInfo is the key itself.
  return createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32);
}
