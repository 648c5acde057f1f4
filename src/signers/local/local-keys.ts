import { invalidField } from '../../core/errors.js';
import type { LocalKeys } from '../../core/ports/local-keys.js';
import { heldSignerFrom } from './held-signer.js';
import { openKeystore } from './keystore.js';
import { KeystoreError } from './keystore-error.js';

/** Keys that the service itself keeps. `initKeccak` must have resolved. */
export const localKeys: LocalKeys = {
  open(id, privateKey) {
    try {
      return heldSignerFrom(id, privateKey, ['secp256k1', 'ed25519']);
    } catch {
      throw invalidField('config.key', 'must be a private key of the curve secp256k1: not zero, and below its order');
    }
  },
  async fromKeystore(json, passphrase) {
    try {
      return (await openKeystore(json, passphrase)).privateKey;
    } catch (error) {
      if (!(error instanceof KeystoreError)) throw error;
      const field = error.problem === 'wrong_passphrase' ? 'config.passphrase' : 'config.keystore';
      throw invalidField(field, `is refused: ${error.message}`);
    }
  },
};
