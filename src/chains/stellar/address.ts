import { Address, StrKey, xdr } from '@stellar/stellar-sdk';

/** Returns the account address (`G...`) of an ed25519 public key of 32 bytes. */
export function addressFromPublicKey(publicKey: Uint8Array): string {
  return StrKey.encodeEd25519PublicKey(Buffer.from(publicKey));
}

/** Returns the account (`G...`) of a plain or muxed (`M...`) address; null if the text is neither. */
export function accountOf(address: string): string | null {
  if (StrKey.isValidEd25519PublicKey(address)) return address;
  if (!StrKey.isValidMed25519PublicKey(address)) return null;
  // The key comes first, then the ID.
  return StrKey.encodeEd25519PublicKey(StrKey.decodeMed25519PublicKey(address).subarray(0, 32));
}

/** Encodes a valid address (see `accountOf`) for operations and envelopes. */
export function muxedAccountFrom(address: string): xdr.MuxedAccount {
  if (StrKey.isValidEd25519PublicKey(address)) return xdr.MuxedAccount.keyTypeEd25519(StrKey.decodeEd25519PublicKey(address));
  const bytes = StrKey.decodeMed25519PublicKey(address);
  return xdr.MuxedAccount.keyTypeMuxedEd25519(
    new xdr.MuxedAccountMed25519({ ed25519: bytes.subarray(0, 32), id: Buffer.from(bytes).readBigUInt64BE(32) }),
  );
}

/** Decodes an account of an operation or envelope to its address. */
export function addressFromMuxedAccount(account: xdr.MuxedAccount): string {
  if (account.type === 'keyTypeEd25519') return StrKey.encodeEd25519PublicKey(account.ed25519.value);
  // In XDR the ID comes first.
  const bytes = account.med25519.toXdr();
  return StrKey.encodeMed25519PublicKey(Buffer.concat([bytes.subarray(8), bytes.subarray(0, 8)]));
}

/** Encodes a valid `G...` address as the account ID that ledgers use. */
export function accountIdFrom(address: string): xdr.AccountId {
  return xdr.PublicKey.publicKeyTypeEd25519(StrKey.decodeEd25519PublicKey(address));
}

/** Encodes an address (`G...`, `M...` or `C...`) for contracts; null if the text is none of them. */
export function readContractAddress(text: string): xdr.ScAddress | null {
  const isAddress = StrKey.isValidContract(text) || StrKey.isValidEd25519PublicKey(text) || StrKey.isValidMed25519PublicKey(text);
  return isAddress ? Address.fromString(text).toScAddress() : null;
}

/** Decodes a secret seed (`S...`) to its 32 bytes; null if the text or its checksum is invalid. */
export function seedFromSecretSeed(text: string): Buffer | null {
  return StrKey.isValidEd25519SecretSeed(text) ? Buffer.from(StrKey.decodeEd25519SecretSeed(text)) : null;
}
