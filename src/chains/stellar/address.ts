import { StrKey } from '@stellar/stellar-sdk';

/** The address of an account (`G...`) by its ed25519 public key of 32 bytes. */
export function addressFromPublicKey(publicKey: Uint8Array): string {
  return StrKey.encodeEd25519PublicKey(Buffer.from(publicKey));
}
