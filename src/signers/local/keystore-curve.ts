import type { Curve } from '../../core/ports/signer.js';
import { valueFromKeystoreJson } from './keystore-json.js';

/**
 * The curve of the key in a keystore, which needs no passphrase: ours say so, all others are Ethereum's as far as can be told before they are read.
 * Throws `KeystoreError` where the text is not JSON.
 */
export function curveOfKeystore(json: string): Curve {
  const value = valueFromKeystoreJson(json);
  return typeof value === 'object' && value !== null && 'type' in value && value.type === 'ed25519' ? 'ed25519' : 'secp256k1';
}
