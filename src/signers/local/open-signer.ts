import type { Signer } from '../../core/ports/signer.js';
import { openEd25519Keystore } from './ed25519-keystore.js';
import { createEd25519Signer } from './ed25519-signer.js';
import { openKeystore } from './keystore.js';
import { curveOfKeystore } from './keystore-curve.js';
import { createLocalSigner } from './local-signer.js';

/** A key in a keystore, and what opens it. */
export interface KeystoreSigner {
  readonly id: string;
  /** What the keystore file holds: an Ethereum keystore, or one of ours with an ed25519 key. */
  readonly json: string;
  readonly passphrase: string;
}

/** Opens the keystore and makes the signer of its key, on the curve that the keystore is of. Throws `KeystoreError`. `initKeccak` must have resolved. */
export async function openSigner({ id, json, passphrase }: KeystoreSigner): Promise<Signer> {
  if (curveOfKeystore(json) === 'ed25519') {
    const { seed } = await openEd25519Keystore(json, passphrase);
    const signer = createEd25519Signer({ id, seed });
    seed.fill(0);
    return signer;
  }
  const { privateKey } = await openKeystore(json, passphrase);
  const signer = createLocalSigner({ id, privateKey });
  privateKey.fill(0);
  return signer;
}
