import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';

type Secp256k1 = typeof import('secp256k1');

/**
 * libsecp256k1, by its native addon. Never through the package's index, which falls back to plain JavaScript in silence: that is ten times
 * slower, and signs in time that depends on the key.
 */
export const secp256k1: Secp256k1 = load();

function load(): Secp256k1 {
  try {
    const native = createRequire(import.meta.url)('secp256k1/bindings') as Secp256k1;
    native.contextRandomize(randomBytes(32));
    return native;
  } catch (error) {
    throw new Error('the native addon of secp256k1 is missing for this platform: reinstall with install scripts allowed', { cause: error });
  }
}
