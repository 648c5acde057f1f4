import { StrKey } from '@stellar/stellar-sdk';

/** The 32 bytes of a secret seed as Stellar's tools write it (`S...`); null when the text is none, its checksum included. */
export function seedFromSecretSeed(text: string): Buffer | null {
  return StrKey.isValidEd25519SecretSeed(text) ? Buffer.from(StrKey.decodeEd25519SecretSeed(text)) : null;
}
