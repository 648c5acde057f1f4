import { invalidField } from '../errors/errors.js';
import { readAll } from '../errors/read-all.js';
import type { TypedData } from '../ports/chain/requests.js';
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

/** Signs the bytes of a message by EIP-191, version 0x45 (`personal_sign`). */
export async function signData(keccak256: Keccak256, signer: Secp256k1Signer, bytes: Buffer): Promise<SignedDigest> {
  const prefix = Buffer.from(`\x19Ethereum Signed Message:\n${bytes.length}`, 'latin1');
  return signDigest(signer, keccak256(Buffer.concat([prefix, bytes])));
}

/**
 * Signs EIP-712 typed data by its two hashes: keccak256(0x1901 ‖ domain separator ‖ hash of the message). Throws 400 as `readTypedData`
 * does.
 */
export async function signTypedData(keccak256: Keccak256, signer: Secp256k1Signer, typedData: TypedData): Promise<SignedDigest> {
  const { domainSeparator, hashStructMessage } = readTypedData(typedData);
  const preimage = Buffer.allocUnsafe(66);
  preimage[0] = 0x19;
  preimage[1] = 0x01;
  preimage.write(domainSeparator, 2, 'hex');
  preimage.write(hashStructMessage, 34, 'hex');
  return signDigest(signer, keccak256(preimage));
}

/** Returns the hex digits of both hashes. Throws 400 that names each one that is missing or not 32 bytes of hex. */
export function readTypedData({ domainSeparator, hashStructMessage }: TypedData): TypedData {
  return readAll({
    domainSeparator: () => digitsOf('domain_separator', domainSeparator),
    hashStructMessage: () => digitsOf('hash_struct_message', hashStructMessage),
  });
}

async function signDigest(signer: Secp256k1Signer, digest: Uint8Array): Promise<SignedDigest> {
  return { digest: `0x${Buffer.from(digest).toString('hex')}`, signature: await signer.signDigest(digest) };
}

function digitsOf(field: string, text: string): string {
  if (text === '') throw invalidField(field, 'is required');
  checkText(field, text, syntaxes.hash);
  return text.startsWith('0x') ? text.slice(2) : text;
}
