import { entryIdFromText, taken } from '../entry-id.js';
import { invalidField } from '../errors.js';
import type { Exclusively } from '../exclusively.js';
import type { Ids } from '../ids.js';
import type { SecretBox } from '../ports/secret-box.js';
import type { Store } from '../ports/store.js';
import { type HeldSigner, type Signers, signerPurpose } from './signers.js';

/** Turns keys that the service itself holds into signers. */
export interface LocalKeys {
  /** Returns the signer of a private key of 32 bytes, which it copies. Throws `FIELD_INVALID` for `config.key` if secp256k1 rejects the key. */
  open(id: string, privateKey: Uint8Array): HeldSigner;
  /**
   * Decrypts an Ethereum keystore. Throws `FIELD_INVALID` for `config.keystore` or `config.passphrase`. The caller should overwrite the
   * returned key.
   */
  fromKeystore(json: string, passphrase: string): Promise<Uint8Array>;
}

/** What `createSigner` works with. */
export interface CreateSignerDeps {
  readonly store: Pick<Store, 'change' | 'commit'>;
  readonly ids: Ids;
  readonly secretBox: Pick<SecretBox, 'seal'>;
  readonly signers: Signers;
  readonly localKeys: LocalKeys;
  readonly exclusively: Exclusively;
}

/** A signer as requested. */
export interface NewSigner {
  /** Absent: a UUID. */
  readonly id: string | undefined;
  readonly secret: { readonly privateKey: Uint8Array } | { readonly keystore: string; readonly passphrase: string };
}

/** Creates a signer; the service stores its key sealed. Throws `FIELD_INVALID`, `ID_EXISTS`. */
export async function createSigner(deps: CreateSignerDeps, { id: wantedId, secret }: NewSigner): Promise<HeldSigner> {
  const { store, ids, secretBox, signers, localKeys, exclusively } = deps;
  const id = wantedId === undefined ? ids.random() : entryIdFromText(wantedId);
  const privateKey = 'privateKey' in secret ? secret.privateKey : await localKeys.fromKeystore(secret.keystore, secret.passphrase);
  if (privateKey.length !== 32) throw invalidField('config.key', 'must be 32 bytes: 64 hex digits, with or without 0x');
  const signer = localKeys.open(id, privateKey);
  const sealed = secretBox.seal(Buffer.from(privateKey).toString('hex'), signerPurpose(id));
  privateKey.fill(0);
  return exclusively(async () => {
    if (signers.find(id) !== undefined) throw taken(`Signer with ID ${id} already exists`);
    await store.commit([store.change.putDefinition({ kind: 'signer', id, content: { type: 'local' }, sealed })]);
    signers.add(signer);
    return signer;
  });
}
