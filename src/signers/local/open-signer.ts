import type { Curve, Signer } from '../../core/ports/signer.js';
import { curvesOfKeystore } from './curves-of-keystore.js';
import { openEd25519Keystore } from './ed25519-keystore.js';
import { createEd25519Signer } from './ed25519-signer.js';
import { openKeystore } from './keystore.js';
import { KeystoreError } from './keystore-error.js';
import { createLocalSigner } from './local-signer.js';

/** A key in a keystore, what opens it, and the curve that it is to sign on. */
export interface KeystoreSigner {
  readonly id: string;
  /** What the keystore file holds: an Ethereum keystore, or one of ours with an ed25519 key. */
  readonly json: string;
  readonly passphrase: string;
  readonly curve: Curve;
}

/** Opens the keystore and makes the signer of its key. Throws `KeystoreError`. `initKeccak` must have resolved. */
export async function openSigner({ id, json, passphrase, curve }: KeystoreSigner): Promise<Signer> {
  const curves = curvesOfKeystore(json);
  if (!curves.includes(curve))
    throw new KeystoreError('wrong_curve', `the keystore holds a key of ${curves.join(', ')}, and one of ${curve} is needed`);
  const { privateKey } = curves.includes('secp256k1') ? await openKeystore(json, passphrase) : await openEd25519Keystore(json, passphrase);
  try {
    return curve === 'ed25519' ? createEd25519Signer({ id, seed: privateKey }) : createLocalSigner({ id, privateKey });
  } finally {
    privateKey.fill(0);
  }
}
