import type { Curve } from '../../core/ports/signer.js';
import { readEd25519Keystore } from './ed25519-keystore.js';
import { readKeystore } from './keystore.js';
import { valueFromKeystoreJson } from './keystore-json.js';

/**
 * The curves that the key in a keystore is for, told without its passphrase: ours is for ed25519, and an Ethereum keystore that names its address for
 * secp256k1. One that names none is for both: the existing relayer makes such files for every network, and on Stellar and Solana takes the 32 bytes
 * as an ed25519 seed. Throws `KeystoreError` `malformed`.
 */
export function curvesOfKeystore(json: string): readonly Curve[] {
  if (isEd25519(json)) {
    readEd25519Keystore(json);
    return ['ed25519'];
  }
  return readKeystore(json).address === undefined ? ['secp256k1', 'ed25519'] : ['secp256k1'];
}

function isEd25519(json: string): boolean {
  const value = valueFromKeystoreJson(json);
  return typeof value === 'object' && value !== null && 'type' in value && value.type === 'ed25519';
}
