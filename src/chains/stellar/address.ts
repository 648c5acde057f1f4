import { Address, StrKey, xdr } from '@stellar/stellar-sdk';

/** The address of an account (`G...`) by its ed25519 public key of 32 bytes. */
export function addressFromPublicKey(publicKey: Uint8Array): string {
  return StrKey.encodeEd25519PublicKey(Buffer.from(publicKey));
}

/** The account (`G...`) that an address names, plain or muxed (`M...`); null for any other text. */
export function accountOf(address: string): string | null {
  if (StrKey.isValidEd25519PublicKey(address)) return address;
  if (!StrKey.isValidMed25519PublicKey(address)) return null;
  // The key, then the number.
  return StrKey.encodeEd25519PublicKey(StrKey.decodeMed25519PublicKey(address).subarray(0, 32));
}

/** An account as operations and envelopes name it. The text must be an address (see `accountOf`). */
export function muxedAccountFrom(address: string): xdr.MuxedAccount {
  if (StrKey.isValidEd25519PublicKey(address)) return xdr.MuxedAccount.keyTypeEd25519(StrKey.decodeEd25519PublicKey(address));
  const bytes = StrKey.decodeMed25519PublicKey(address);
  return xdr.MuxedAccount.keyTypeMuxedEd25519(
    new xdr.MuxedAccountMed25519({ ed25519: bytes.subarray(0, 32), id: xdr.Uint64.fromXDR(bytes.subarray(32)) }),
  );
}

/** The address of an account as operations and envelopes name it. */
export function addressFromMuxedAccount(account: xdr.MuxedAccount): string {
  if (account.switch().name === 'keyTypeEd25519') return StrKey.encodeEd25519PublicKey(account.ed25519());
  const { id, ed25519 } = { id: account.med25519().id(), ed25519: account.med25519().ed25519() };
  return StrKey.encodeMed25519PublicKey(Buffer.concat([ed25519, id.toXDR()]));
}

/** An account's id as ledgers name it. The text must be `G...`. */
export function accountIdFrom(address: string): xdr.AccountId {
  return xdr.PublicKey.publicKeyTypeEd25519(StrKey.decodeEd25519PublicKey(address));
}

/** An address as contracts name it; null where the text is none. */
export function readContractAddress(text: string): xdr.ScAddress | null {
  const isAddress = StrKey.isValidContract(text) || StrKey.isValidEd25519PublicKey(text) || StrKey.isValidMed25519PublicKey(text);
  return isAddress ? Address.fromString(text).toScAddress() : null;
}

/** The 32 bytes of a secret seed as Stellar's tools write it (`S...`); null when the text is none, its checksum included. */
export function seedFromSecretSeed(text: string): Buffer | null {
  return StrKey.isValidEd25519SecretSeed(text) ? Buffer.from(StrKey.decodeEd25519SecretSeed(text)) : null;
}
