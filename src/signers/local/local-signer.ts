import { computeAddress } from 'ethers';
import type { Secp256k1Signer } from '../../core/ports/signer.js';
import { secp256k1 } from './secp256k1.js';

/** What a local signer is made of. */
export interface LocalSignerOptions {
  readonly id: string;
  /** 32 bytes; copied, so that the caller can and should overwrite its own. */
  readonly privateKey: Uint8Array;
}

/** A signer with its key in this process. Throws when the bytes are no secp256k1 key. */
export function createLocalSigner({ id, privateKey }: LocalSignerOptions): Secp256k1Signer {
  const key = Uint8Array.from(privateKey);
  const address = addressOfKey(key);
  return {
    id,
    curve: 'secp256k1',
    address,
    async signDigest(digest) {
      // libsecp256k1 signs with low s, and a nonce by RFC 6979: the same digest has the same signature.
      const { signature, recid } = secp256k1.ecdsaSign(digest, key);
      // 2 and 3 mean an r beyond the curve's order, which nobody will ever meet; as v they would name another sender.
      if (recid > 1) throw new Error('a signature cannot be expressed with v 27 or 28');
      const hex = Buffer.from(signature).toString('hex');
      return { r: hex.slice(0, 64), s: hex.slice(64), v: recid === 0 ? 27 : 28 };
    },
  };
}

/** The EIP-55 address of a private key. Throws when the bytes are no secp256k1 key. */
export function addressOfKey(privateKey: Uint8Array): string {
  if (privateKey.length !== 32 || !secp256k1.privateKeyVerify(privateKey)) throw new Error('the private key is not a secp256k1 key');
  return computeAddress(`0x${Buffer.from(secp256k1.publicKeyCreate(privateKey, false)).toString('hex')}`);
}
