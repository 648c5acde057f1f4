import { invalidField } from '../errors.js';
import type { Keccak256 } from '../ports/hash.js';
import type { Secp256k1Signer } from '../ports/signer.js';
import type { EvmSignature } from '../transaction/evm.js';

const hash32 = /^(?:0x)?([0-9a-fA-F]{64})$/;

/**
 * Signs EIP-712 typed data by its two hashes: keccak256(0x1901 ‖ domain separator ‖ hash of the message).
 * Throws 400 naming the field that is not 32 bytes of hex.
 */
export async function signTypedData(
  keccak256: Keccak256,
  signer: Secp256k1Signer,
  typedData: { readonly domainSeparator: string; readonly hashStructMessage: string },
): Promise<EvmSignature> {
  const preimage = Buffer.allocUnsafe(66);
  preimage[0] = 0x19;
  preimage[1] = 0x01;
  preimage.write(digitsOf('domain_separator', typedData.domainSeparator), 2, 'hex');
  preimage.write(digitsOf('hash_struct_message', typedData.hashStructMessage), 34, 'hex');
  return signer.signDigest(keccak256(preimage));
}

function digitsOf(field: string, text: string): string {
  const digits = hash32.exec(text)?.[1];
  if (digits === undefined) throw invalidField(field, 'must be 32 bytes of hex: 64 hex digits, with or without 0x');
  return digits;
}
