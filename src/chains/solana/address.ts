import { address, getAddressDecoder, getBase58Encoder } from '@solana/kit';

/** The address of an account (base58) by its ed25519 public key of 32 bytes. */
export function addressFromPublicKey(publicKey: Uint8Array): string {
  return getAddressDecoder().decode(publicKey);
}

/** Moves lamports and makes accounts. */
export const systemProgram = address('11111111111111111111111111111111');
/** Reads what a transaction bids for and how much it may compute; does nothing else. */
export const computeBudgetProgram = address('ComputeBudget111111111111111111111111111111');
/** Owns the tables of addresses that v0 transactions look up. */
export const lookupTableProgram = address('AddressLookupTab1e1111111111111111111111111');

/**
 * The bytes of a secret key as Solana's tools write it: a JSON list of bytes (the command line's files) or base58 (what wallets export). 64 of them
 * (the seed, then the public key) or 32 (the seed); null when the text is neither.
 */
export function bytesFromSecretKey(text: string): Buffer | null {
  const bytes = text.startsWith('[') ? bytesFromList(text) : bytesFromBase58(text);
  return bytes?.length === 64 || bytes?.length === 32 ? bytes : null;
}

function bytesFromList(text: string): Buffer | null {
  // Checked before it is parsed: the parser's message would quote the text.
  if (!/^\[\s*\d{1,3}(?:\s*,\s*\d{1,3}){31,63}\s*\]$/.test(text)) return null;
  const numbers: readonly number[] = JSON.parse(text);
  return numbers.every((number) => number < 256) ? Buffer.from(numbers) : null;
}

function bytesFromBase58(text: string): Buffer | null {
  if (!/^[1-9A-HJ-NP-Za-km-z]{32,90}$/.test(text)) return null;
  return Buffer.from(getBase58Encoder().encode(text));
}
