import { randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';

type Secp256k1 = typeof import('secp256k1');

/**
 * libsecp256k1 as a native addon. Never import the package's index: without the addon it silently falls back to plain JavaScript, which is
 * ten times slower and takes a time that depends on the key.
 */
export const secp256k1 = loadSecp256k1();

function loadSecp256k1(): Secp256k1 {
  try {
    const native = createRequire(import.meta.url)('secp256k1/bindings') as Secp256k1;
    native.contextRandomize(randomBytes(32));
    return native;
  } catch (error) {
    throw new Error('the native addon of secp256k1 is missing for this platform; reinstall with install scripts allowed', { cause: error });
  }
}
