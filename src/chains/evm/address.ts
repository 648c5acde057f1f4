import { syntaxes, textProblem } from '../../core/text/text-syntax.js';
import { checksumAddress } from '../../crypto/evm-address.js';

/** Reads a caller's address into EIP-55. `problem` continues a sentence that starts with the field name. */
export function readAddress(text: string): { readonly address: string } | { readonly problem: string } {
  const problem = textProblem(syntaxes.evm_address, text);
  if (problem !== undefined) return { problem };
  const address = checksumAddress(text);
  if (text === address) return { address };
  const digits = text.slice(2);
  const isMixed = digits !== digits.toLowerCase() && digits !== digits.toUpperCase();
  if (isMixed) return { problem: 'has an invalid EIP-55 checksum; use lower case or the correct checksum' };
  return { address };
}
