import { invalidField } from '../../core/errors/errors.js';
import type { LocalKeys } from '../../core/signer/signers.js';
import { openKeystore } from './keystore.js';
import { KeystoreError } from './keystore-error.js';
import { heldSignerFrom } from './open-signer.js';

/** Signers for keys that the service stores itself. */
export const localKeys: LocalKeys = {
  open(id, privateKey) {
    try {
      return heldSignerFrom(id, privateKey, ['secp256k1', 'ed25519']);
    } catch {
      throw invalidField('config.key', 'must be a secp256k1 private key: not zero, and below the order of the curve');
    }
  },
  async fromKeystore(json, passphrase) {
    try {
      return (await openKeystore(json, passphrase)).privateKey;
    } catch (error) {
      if (!(error instanceof KeystoreError)) throw error;
      if (error.problem === 'wrong_passphrase') throw invalidField('config.passphrase', 'does not decrypt the keystore');
      throw invalidField('config.keystore', `cannot be opened: ${error.message}`);
    }
  },
};
