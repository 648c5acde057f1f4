import type { HeldSigner } from '../signer/signers.js';

/** Makes signers of keys that the service itself keeps. */
export interface LocalKeys {
  /**
   * The signer of a private key of 32 bytes, which are copied. Throws `FIELD_INVALID` naming `config.key` where they are no secp256k1 key,
   * which is next to never.
   */
  open(id: string, privateKey: Uint8Array): HeldSigner;
  /**
   * The key in an Ethereum keystore. Throws `FIELD_INVALID` naming `config.keystore` or `config.passphrase`. The caller should overwrite
   * the key.
   */
  fromKeystore(json: string, passphrase: string): Promise<Uint8Array>;
}
