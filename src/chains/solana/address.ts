import { address, getAddressDecoder, getBase58Encoder } from '@solana/kit';

/** Returns the base58 address of an ed25519 public key of 32 bytes. */
export function addressFromPublicKey(publicKey: Uint8Array): string {
  return getAddressDecoder().decode(publicKey);
}

/** Moves lamports and creates accounts. */
export const systemProgram = address('11111111111111111111111111111111');
/** Sets the compute unit limit and price of a transaction. */
export const computeBudgetProgram = address('ComputeBudget111111111111111111111111111111');
/** Owns the address lookup tables of v0 transactions. */
export const lookupTableProgram = address('AddressLookupTab1e1111111111111111111111111');

/**
 * Decodes a secret key: a JSON list of bytes (key files of the command line) or base58 (wallet exports). Returns 64 bytes (seed and public
 * key) or 32 (seed); null if the text is neither.
 */
export function bytesFromSecretKey(text: string): Buffer | null {
  const bytes = text.startsWith('[') ? bytesFromList(text) : bytesFromBase58(text);
  return bytes?.length === 64 || bytes?.length === 32 ? bytes : null;
}

function bytesFromList(text: string): Buffer | null {
  // Checked before parsing, because a parser error would quote the secret.
  if (!/^\[\s*\d{1,3}(?:\s*,\s*\d{1,3}){31,63}\s*\]$/.test(text)) return null;
  const numbers: readonly number[] = JSON.parse(text);
  return numbers.every((number) => number < 256) ? Buffer.from(numbers) : null;
}

function bytesFromBase58(text: string): Buffer | null {
  if (!/^[1-9A-HJ-NP-Za-km-z]{32,90}$/.test(text)) return null;
  return Buffer.from(getBase58Encoder().encode(text));
}
