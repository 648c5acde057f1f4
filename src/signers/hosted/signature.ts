import { createPublicKey, type KeyObject, randomBytes, verify } from 'node:crypto';
import type { EvmSignature } from '../../core/records/evm.js';
import { secp256k1 } from '../../crypto/secp256k1.js';
import type { KeyProvider, PublicKey } from './key-provider.js';

/**
 * Returns a provider's signature in the form of EVM networks, with low s; null if it is not this key's signature of the digest. The
 * recovery id, which providers do not return, is found by trial: the key that it recovers is compared, which also verifies the signature.
 */
export function evmSignatureFrom(
  answer: Uint8Array,
  form: KeyProvider['form'],
  digest: Uint8Array,
  publicKey: Uint8Array,
): EvmSignature | null {
  try {
    const signature = secp256k1.signatureNormalize(form === 'der' ? secp256k1.signatureImport(answer) : Uint8Array.from(answer));
    for (const recoveryId of [0, 1]) {
      if (!isRecovered(signature, recoveryId, digest, publicKey)) continue;
      const hex = Buffer.from(signature).toString('hex');
      return { r: hex.slice(0, 64), s: hex.slice(64), v: recoveryId === 0 ? 27 : 28 };
    }
  } catch {
    // Not a signature at all: not DER, not 64 bytes, or a number outside of the curve's order.
  }
  return null;
}

function isRecovered(signature: Uint8Array, recoveryId: number, digest: Uint8Array, publicKey: Uint8Array): boolean {
  try {
    return Buffer.compare(secp256k1.ecdsaRecover(signature, recoveryId, digest, false), publicKey) === 0;
  } catch {
    return false;
  }
}

/** Makes the verifier of an ed25519 key: it returns a provider's signature, or null if it is not this key's signature of the message. */
export function ed25519Verifier(publicKey: Uint8Array): (answer: Uint8Array, message: Uint8Array) => Uint8Array | null {
  const x = Buffer.from(publicKey).toString('base64url');
  const key: KeyObject = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  return (answer, message) => (answer.length === 64 && verify(null, message, key, answer) ? Uint8Array.from(answer) : null);
}

/**
 * Returns the first of these public keys, all of one curve, that belongs to the key that signs; undefined if none does. A wrong public key
 * is a wrong address, and money that is sent to it is lost. `sign` signs one random value, which is not a transaction of any network, and
 * returns r and s, 32 bytes each.
 */
export async function provenKey(
  candidates: readonly PublicKey[],
  sign: (bytes: Uint8Array) => Promise<Uint8Array>,
): Promise<PublicKey | undefined> {
  const nonce = randomBytes(32);
  if (candidates[0]?.curve !== 'ed25519') {
    const signature = await sign(nonce);
    return candidates.find(({ bytes }) => evmSignatureFrom(signature, 'fixed', nonce, bytes) !== null);
  }
  const message = Buffer.from(`relayer: proof of the key ${nonce.toString('hex')}`);
  const signature = await sign(message);
  return candidates.find(({ bytes }) => ed25519Verifier(bytes)(signature, message) !== null);
}
