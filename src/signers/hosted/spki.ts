import { createPublicKey, type KeyObject } from 'node:crypto';
import { ProviderError, type PublicKey } from './key-provider.js';

/**
 * Reads a public key in the form of X.509 (SubjectPublicKeyInfo): its DER bytes, or PEM. Throws `ProviderError` if no network can use the
 * key.
 */
export function publicKeyFromSpki(spki: Uint8Array | string): PublicKey {
  const key = keyFrom(spki);
  const { crv, x = '', y = '' } = isKnown(key) ? key.export({ format: 'jwk' }) : {};
  if (crv === 'Ed25519') return { curve: 'ed25519', bytes: Buffer.from(x, 'base64url') };
  if (crv === 'secp256k1')
    return { curve: 'secp256k1', bytes: Buffer.concat([Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]) };
  const what = key.asymmetricKeyDetails?.namedCurve ?? key.asymmetricKeyType ?? 'unknown';
  throw new ProviderError('refused', `the key is of type ${what}; must be secp256k1 for EVM networks, or ed25519 for Stellar and Solana`);
}

/** Only these keys have a JWK form with a curve; the export of others throws. */
function isKnown({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean {
  return asymmetricKeyType === 'ed25519' || asymmetricKeyDetails?.namedCurve === 'secp256k1';
}

function keyFrom(spki: Uint8Array | string): KeyObject {
  try {
    return typeof spki === 'string' ? createPublicKey(spki) : createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' });
  } catch {
    throw new ProviderError('unreachable', 'the answer has no valid public key');
  }
}
