import { createPublicKey, verify } from 'node:crypto';
import { type Address, getAddressEncoder, getBase58Decoder } from '@solana/kit';

/** True when the account has signed these bytes. */
export function hasSigned(account: Address, signature: Uint8Array, message: Uint8Array): boolean {
  const x = Buffer.from(getAddressEncoder().encode(account)).toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  return verify(null, message, key, signature);
}

/** The text of a signature, which names its transaction: base58. */
export function signatureText(signature: Uint8Array): string {
  return getBase58Decoder().decode(signature);
}
