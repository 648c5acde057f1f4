import type { Secp256k1Signer } from '../ports/signer.js';
import type { EvmSignature } from '../records/evm.js';
import { checkText, syntaxes } from '../text/text-syntax.js';

/** Returns the Keccak-256 hash of bytes: 32 bytes. */
export type Keccak256 = (bytes: Uint8Array) => Uint8Array;

/** A signature, and the digest that it is for: `0x` and 64 hex digits. */
export interface SignedDigest {
  readonly digest: string;
  readonly signature: EvmSignature;
}

/** Signs the UTF-8 bytes of a message by EIP-191, version 0x45 (`personal_sign`). */
export async function signData(keccak256: Keccak256, signer: Secp256k1Signer, message: string): Promise<SignedDigest> {
  const bytes = Buffer.from(message, 'utf8');
  const prefix = Buffer.from(`\x19Ethereum Signed Message:\n${bytes.length}`, 'latin1');
  return signDigest(signer, keccak256(Buffer.concat([prefix, bytes])));
}

/**
 * Signs EIP-712 typed data by its two hashes: keccak256(0x1901 ‖ domain separator ‖ hash of the message).
 * Throws 400 for a field that is not 32 bytes of hex.
 */
export async function signTypedData(
  keccak256: Keccak256,
  signer: Secp256k1Signer,
  typedData: { readonly domainSeparator: string; readonly hashStructMessage: string },
): Promise<SignedDigest> {
  const preimage = Buffer.allocUnsafe(66);
  preimage[0] = 0x19;
  preimage[1] = 0x01;
  preimage.write(digitsOf('domain_separator', typedData.domainSeparator), 2, 'hex');
  preimage.write(digitsOf('hash_struct_message', typedData.hashStructMessage), 34, 'hex');
  return signDigest(signer, keccak256(preimage));
}

async function signDigest(signer: Secp256k1Signer, digest: Uint8Array): Promise<SignedDigest> {
  return { digest: `0x${Buffer.from(digest).toString('hex')}`, signature: await signer.signDigest(digest) };
}

function digitsOf(field: string, text: string): string {
  checkText(field, text, syntaxes.hash);
  return text.startsWith('0x') ? text.slice(2) : text;
}
