import { sign } from 'node:crypto';
import type { Ed25519Signer } from '../../core/ports/signer.js';
import { keyFromSeed, publicKeyOf } from './ed25519-key.js';

interface Ed25519SignerOptions {
  readonly id: string;
  /** 32 bytes. The signer keeps a copy; the caller should overwrite its own. */
  readonly seed: Uint8Array;
}

/** Makes a signer that keeps its key in this process. Throws if the seed does not have 32 bytes. */
export function createEd25519Signer({ id, seed }: Ed25519SignerOptions): Ed25519Signer {
  const key = keyFromSeed(seed);
  return {
    id,
    curve: 'ed25519',
    publicKey: Uint8Array.from(publicKeyOf(key)),
    async sign(message) {
      return Uint8Array.from(sign(null, message, key));
    },
  };
}
