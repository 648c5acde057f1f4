import type { Curve } from '../../core/records/network.js';
import type { HeldSigner, Keystore } from '../../core/signer/signers.js';
import { decryptEd25519Keystore, readEd25519Keystore } from './ed25519-keystore.js';
import { createEd25519Signer } from './ed25519-signer.js';
import { decryptKeystore, readKeystore } from './keystore.js';
import { valueFromKeystoreJson } from './keystore-fields.js';
import { createLocalSigner } from './local-signer.js';

/** A decrypted key. */
interface DecryptedKey {
  readonly privateKey: Buffer;
  /** Absent: it is not known, or there is none. */
  readonly address?: string;
}

/**
 * Reads the content of a keystore file: an Ethereum keystore, or our own format for ed25519. An Ethereum keystore that names its address is
 * for secp256k1. One without an address is for both curves: OpenZeppelin Relayer writes such files for every network, and uses the 32 bytes
 * as an ed25519 seed on networks of such keys. `only` does the same for a keystore that names its address. Throws `KeystoreError`
 * `malformed`; to open the keystore throws `KeystoreError`.
 */
export function keystoreFrom(json: string): Keystore {
  const value = valueFromKeystoreJson(json);
  if (value instanceof Map && value.get('type') === 'ed25519') {
    const keystore = readEd25519Keystore(value);
    return openable(['ed25519'], ['ed25519'], (passphrase) => decryptEd25519Keystore(keystore, passphrase));
  }
  const keystore = readKeystore(value);
  const curves = keystore.address === undefined ? (['secp256k1', 'ed25519'] as const) : (['secp256k1'] as const);
  return openable(curves, ['secp256k1', 'ed25519'], (passphrase) => decryptKeystore(keystore, passphrase));
}

/** `possible`: the curves that the format allows. */
function openable(curves: readonly Curve[], possible: readonly Curve[], decrypt: (passphrase: string) => Promise<DecryptedKey>): Keystore {
  return {
    curves,
    only: (curve) => (possible.includes(curve) ? openable([curve], [curve], decrypt) : undefined),
    async open(id, passphrase) {
      const { privateKey, address } = await decrypt(passphrase);
      try {
        return heldSignerFrom(id, privateKey, curves, address);
      } finally {
        privateKey.fill(0);
      }
    },
  };
}

/**
 * Makes the signer of a private key on these curves. Keeps a copy of the 32 bytes. `address`: the key's EVM address, if it is known. Throws
 * if the bytes are no key of one of the curves.
 */
export function heldSignerFrom(id: string, privateKey: Uint8Array, curves: readonly Curve[], address?: string): HeldSigner {
  const ed25519 = curves.includes('ed25519') ? createEd25519Signer({ id, seed: privateKey }) : undefined;
  const secp256k1 = curves.includes('secp256k1')
    ? createLocalSigner(address === undefined ? { id, privateKey } : { id, privateKey, address })
    : undefined;
  return { id, evmAddress: secp256k1?.address ?? null, place: null, on: (curve) => (curve === 'ed25519' ? ed25519 : secp256k1) };
}
