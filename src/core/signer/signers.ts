import type { SaveResponse } from '../access/idempotency.js';
import { entryIdFromText, inUse, taken } from '../entry-id.js';
import { DomainError, invalidField } from '../errors.js';
import type { Exclusively } from '../exclusively.js';
import type { Ids } from '../ids.js';
import type { Directory } from '../ports/directory.js';
import type { SecretBox } from '../ports/secret-box.js';
import type { Curve, Signer } from '../ports/signer.js';
import type { Definition, Store } from '../ports/store.js';
import { shownName } from '../safe-text.js';

/** A key that relayers can use. */
export interface HeldSigner {
  readonly id: string;
  /** The key's address on EVM networks, EIP-55; null if it is only an ed25519 key. */
  readonly evmAddress: string | null;
  /** Returns the key on this curve; undefined if it is none. The same bytes can be a key on both curves. */
  on(curve: Curve): Signer | undefined;
}

/** The signers of the service. */
export interface Signers {
  find(id: string): HeldSigner | undefined;
  /** Oldest first; those of the configuration file before those created by the API. */
  all(): readonly HeldSigner[];
  add(signer: HeldSigner): void;
  remove(id: string): void;
}

/** Creates the collection. */
export function createSigners(signers: readonly HeldSigner[]): Signers {
  const byId = new Map(signers.map((signer) => [signer.id, signer]));
  return {
    find: (id) => byId.get(id),
    all: () => [...byId.values()],
    add: (signer) => void byId.set(signer.id, signer),
    remove: (id) => void byId.delete(id),
  };
}

/** Returns the signer with this id. Throws `SIGNER_NOT_FOUND`. */
export function getSigner(signers: Pick<Signers, 'find'>, id: string): HeldSigner {
  const signer = signers.find(id);
  if (signer !== undefined) return signer;
  throw new DomainError('not_found', 'SIGNER_NOT_FOUND', `Signer with ID ${shownName(id)} not found`, {
    metadata: { signer_id: shownName(id) },
  });
}

/** Returns the purpose that a signer's key is sealed for. */
export function signerPurpose(id: string): string {
  return `signer:${id}`;
}

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

/** The dependencies of creating and deleting signers. */
export interface SignerDeps {
  readonly store: Pick<Store, 'change' | 'commit'>;
  readonly ids: Ids;
  readonly secretBox: Pick<SecretBox, 'seal'>;
  readonly signers: Signers;
  readonly directory: Pick<Directory, 'relayers'>;
  readonly localKeys: LocalKeys;
  /** Ids of the configuration file's signers: the store must remember that one of them was deleted. */
  readonly fileSigners: ReadonlySet<string>;
  readonly exclusively: Exclusively;
}

/** A signer as requested. */
export interface NewSigner {
  /** Absent: a UUID. */
  readonly id: string | undefined;
  readonly secret: { readonly privateKey: Uint8Array } | { readonly keystore: string; readonly passphrase: string };
}

/** Creates a signer; the service stores its key sealed. Throws `FIELD_INVALID`, `ID_EXISTS`. */
export async function createSigner(
  deps: SignerDeps,
  { id: wantedId, secret }: NewSigner,
  saveResponse: SaveResponse<HeldSigner> = () => [],
): Promise<HeldSigner> {
  const { store, ids, secretBox, signers, localKeys, exclusively } = deps;
  const id = wantedId === undefined ? ids.random() : entryIdFromText(wantedId);
  const privateKey = 'privateKey' in secret ? secret.privateKey : await localKeys.fromKeystore(secret.keystore, secret.passphrase);
  if (privateKey.length !== 32) throw invalidField('config.key', 'must be 32 bytes: 64 hex digits, with or without 0x');
  const signer = localKeys.open(id, privateKey);
  const definition = definitionFromKey(secretBox, id, privateKey);
  privateKey.fill(0);
  return exclusively(async () => {
    if (signers.find(id) !== undefined) throw taken(`Signer with ID ${id} already exists`, id);
    await store.commit([store.change.putDefinition(definition), ...saveResponse(signer)]);
    signers.add(signer);
    return signer;
  });
}

/** Returns the definition that stores a key of 32 bytes. */
export function definitionFromKey(secretBox: Pick<SecretBox, 'seal'>, id: string, privateKey: Uint8Array): Definition {
  const sealed = secretBox.seal(Buffer.from(privateKey).toString('hex'), signerPurpose(id));
  return { kind: 'signer', id, content: { type: 'local' }, sealed };
}

/** Deletes a signer and its stored key; a keystore file stays. Throws `SIGNER_NOT_FOUND`, `IN_USE`. */
export function deleteSigner(deps: SignerDeps, id: string): Promise<void> {
  const { store, signers, directory, fileSigners, exclusively } = deps;
  return exclusively(async () => {
    getSigner(signers, id);
    const users = directory.relayers().flatMap((relayer) => (relayer.signerId === id ? [relayer.id] : []));
    if (users.length > 0) throw inUse('Signer', users, 'delete them first');
    const key = { kind: 'signer', id } as const;
    const { change } = store;
    await store.commit([
      fileSigners.has(id) ? change.putDefinition({ ...key, content: null, sealed: null }) : change.deleteDefinition(key),
    ]);
    signers.remove(id);
  });
}
