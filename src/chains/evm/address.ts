import { syntaxes, textProblem } from '../../core/text-syntax.js';
import { keccak256 } from '../../crypto/keccak.js';

/** Converts an address to EIP-55. The text must be `0x` and 40 hex digits. */
export function checksumAddress(address: string): string {
  const digits = address.slice(2).toLowerCase();
  const hash = keccak256(Buffer.from(digits, 'latin1'));
  const nibbleAt = (index: number): number => ((hash[index >> 1] ?? 0) >> (index % 2 === 0 ? 4 : 0)) & 15;
  return `0x${[...digits].map((digit, index) => (nibbleAt(index) >= 8 ? digit.toUpperCase() : digit)).join('')}`;
}

/** Reads a caller's address into EIP-55. `problem` continues a sentence that starts with the field name. */
export function readAddress(text: string): { readonly address: string } | { readonly problem: string } {
  const problem = textProblem(syntaxes.evm_address, text);
  if (problem !== undefined) return { problem };
  const address = checksumAddress(text);
  const digits = text.slice(2);
  const isMixed = digits !== digits.toLowerCase() && digits !== digits.toUpperCase();
  if (isMixed && text !== address) return { problem: 'has an invalid EIP-55 checksum; use lower case or the correct checksum' };
  return { address };
}
