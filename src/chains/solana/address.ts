import { getAddressDecoder } from '@solana/kit';

/** The address of an account (base58) by its ed25519 public key of 32 bytes. */
export function addressFromPublicKey(publicKey: Uint8Array): string {
  return getAddressDecoder().decode(publicKey);
}
