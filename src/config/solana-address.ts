const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** True for base58 of exactly 32 bytes, which is what accounts and programs are named by. */
export function isSolanaAddress(text: string): boolean {
  if (!/^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(text)) return false;
  const number = [...text].reduce((sum, character) => sum * 58n + BigInt(alphabet.indexOf(character)), 0n);
  // Each leading 1 is a byte of zero; the other bytes are the number's.
  const zeros = text.length - text.replace(/^1+/, '').length;
  const bytes = number === 0n ? 0 : Math.ceil(number.toString(16).length / 2);
  return zeros + bytes === 32;
}
