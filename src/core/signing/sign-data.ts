import type { Keccak256 } from '../ports/hash.js';
import type { Secp256k1Signer } from '../ports/signer.js';
import type { EvmSignature } from '../transaction/evm.js';

/** Signs a message by EIP-191, version 0x45 (`personal_sign`), over its UTF-8 bytes. */
export async function signData(keccak256: Keccak256, signer: Secp256k1Signer, message: string): Promise<EvmSignature> {
  const bytes = Buffer.from(message, 'utf8');
  const prefix = Buffer.from(`\x19Ethereum Signed Message:\n${bytes.length}`, 'latin1');
  return signer.signDigest(keccak256(Buffer.concat([prefix, bytes])));
}
