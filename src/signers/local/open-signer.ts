import type { HeldSigner } from '../../core/signer/signers.js';
import { curvesOfKeystore } from './curves-of-keystore.js';
import { openEd25519Keystore } from './ed25519-keystore.js';
import { heldSignerFrom } from './held-signer.js';
import { openKeystore } from './keystore.js';

/** A key in a keystore, and what opens it. */
export interface KeystoreSigner {
  readonly id: string;
  /** What the keystore file holds: an Ethereum keystore, or one of ours with an ed25519 key. */
  readonly json: string;
  readonly passphrase: string;
}

/**
 * Opens the keystore and makes the signer of its key, on every curve that it is for. Throws `KeystoreError`. `initKeccak` must have
 * resolved.
 */
export async function openSigner({ id, json, passphrase }: KeystoreSigner): Promise<HeldSigner> {
  const curves = curvesOfKeystore(json);
  const { privateKey } = curves.includes('secp256k1') ? await openKeystore(json, passphrase) : await openEd25519Keystore(json, passphrase);
  try {
    return heldSignerFrom(id, privateKey, curves);
  } finally {
    privateKey.fill(0);
  }
}
