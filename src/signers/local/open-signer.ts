import type { Curve } from '../../core/ports/signer.js';
import type { HeldSigner } from '../../core/signer/signers.js';
import { openEd25519Keystore, readEd25519Keystore } from './ed25519-keystore.js';
import { createEd25519Signer } from './ed25519-signer.js';
import { openKeystore, readKeystore } from './keystore.js';
import { valueFromKeystoreJson } from './keystore-error.js';
import { createLocalSigner } from './local-signer.js';

/** A keystore and its passphrase. */
interface KeystoreSigner {
  readonly id: string;
  /** The content of the keystore file: an Ethereum keystore, or our own format for ed25519. */
  readonly json: string;
  readonly passphrase: string;
}

/** Opens the keystore and makes a signer for each of its curves. Throws `KeystoreError`. */
export async function openSigner({ id, json, passphrase }: KeystoreSigner): Promise<HeldSigner> {
  const curves = curvesOfKeystore(json);
  const { privateKey } = curves.includes('secp256k1') ? await openKeystore(json, passphrase) : await openEd25519Keystore(json, passphrase);
  try {
    return heldSignerFrom(id, privateKey, curves);
  } finally {
    privateKey.fill(0);
  }
}

/**
 * Returns the curves of a keystore's key, without its passphrase. Our own format is for ed25519; an Ethereum keystore that names its address is for
 * secp256k1. An Ethereum keystore without an address is for both: OpenZeppelin Relayer writes such files for every network, and uses the 32 bytes
 * as an ed25519 seed on Stellar and Solana. Throws `KeystoreError` `malformed`.
 */
export function curvesOfKeystore(json: string): readonly Curve[] {
  const value = valueFromKeystoreJson(json);
  if (typeof value === 'object' && value !== null && 'type' in value && value.type === 'ed25519') {
    readEd25519Keystore(json);
    return ['ed25519'];
  }
  return readKeystore(json).address === undefined ? ['secp256k1', 'ed25519'] : ['secp256k1'];
}

/** Makes the signer of a private key on these curves. Keeps a copy of the 32 bytes. Throws if they are not a key of one of the curves. */
export function heldSignerFrom(id: string, privateKey: Uint8Array, curves: readonly Curve[]): HeldSigner {
  const ed25519 = curves.includes('ed25519') ? createEd25519Signer({ id, seed: privateKey }) : undefined;
  const secp256k1 = curves.includes('secp256k1') ? createLocalSigner({ id, privateKey }) : undefined;
  return { id, evmAddress: secp256k1?.address ?? null, place: null, on: (curve) => (curve === 'ed25519' ? ed25519 : secp256k1) };
}
