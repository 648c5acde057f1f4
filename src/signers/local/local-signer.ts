import type { Secp256k1Signer } from '../../core/ports/signer.js';
import { addressOfPublicKey } from '../../crypto/evm-address.js';
import { secp256k1 } from '../../crypto/secp256k1.js';

interface LocalSignerOptions {
  readonly id: string;
  /** 32 bytes. The signer keeps a copy; the caller should overwrite its own. */
  readonly privateKey: Uint8Array;
  /** The address of the key, if the caller has found it: to compute it takes as long as a signature. */
  readonly address?: string;
}

/** Makes a signer that keeps its key in this process. Throws if the bytes are not a secp256k1 key. */
export function createLocalSigner({ id, privateKey, address = addressOfKey(privateKey) }: LocalSignerOptions): Secp256k1Signer {
  const key = Uint8Array.from(privateKey);
  return {
    id,
    curve: 'secp256k1',
    address,
    async signDigest(digest) {
      // libsecp256k1 signs with a low s and an RFC 6979 nonce, so the same digest always has the same signature.
      const { signature, recid } = secp256k1.ecdsaSign(digest, key);
      // 2 and 3 mean an r above the curve's order, which is practically impossible; as v they would recover to another sender.
      if (recid > 1) throw new Error(`the signature's recovery id is ${recid}; v 27 or 28 cannot express it`);
      const hex = Buffer.from(signature).toString('hex');
      return { r: hex.slice(0, 64), s: hex.slice(64), v: recid === 0 ? 27 : 28 };
    },
  };
}

/** Returns the EIP-55 address of a private key. Throws if the bytes are not a secp256k1 key. */
export function addressOfKey(privateKey: Uint8Array): string {
  if (privateKey.length !== 32 || !secp256k1.privateKeyVerify(privateKey)) throw new Error('the private key is not a secp256k1 key');
  return addressOfPublicKey(secp256k1.publicKeyCreate(privateKey, false));
}
