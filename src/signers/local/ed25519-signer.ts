import { sign } from 'node:crypto';
import type { Ed25519Signer } from '../../core/ports/signer.js';
import { keyFromSeed, publicKeyOf } from './ed25519-key.js';

/** What an ed25519 signer is made of. */
export interface Ed25519SignerOptions {
  readonly id: string;
  /** 32 bytes; copied, so that the caller can and should overwrite its own. */
  readonly seed: Uint8Array;
}

/** A signer with its key in this process. Throws when the seed has not 32 bytes. */
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
