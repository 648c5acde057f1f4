import type { DefinitionWriter } from '../definitions/definition-writer.js';
import { DomainError, invalidField } from '../errors/errors.js';
import type { Directory } from '../ports/directory.js';
import type { SecretBox } from '../ports/secret-box.js';
import type { Signer } from '../ports/signer.js';
import type { SaveResponse } from '../ports/store/stored-responses.js';
import type { Definition } from '../records/definition.js';
import type { Ids } from '../records/ids.js';
import { type Curve, curveOf, type NetworkType } from '../records/network.js';
import { entryIdFromText, inUse, taken } from '../text/entry-id.js';
import { shownName } from '../text/safe-text.js';
import type { Exclusively } from '../work/one-at-a-time.js';
import { definitionFromPin, type HostedKey, type HostedKeyPlace, type PinnedKey, storedFormOf, unservedReason } from './hosted-key.js';
import type { Keccak256 } from './sign-data.js';

/** A key that relayers can use. */
export interface HeldSigner {
  readonly id: string;
  /** The key's address on EVM networks, EIP-55; null if it is only an ed25519 key. */
  readonly evmAddress: string | null;
  /** What identifies a key outside of the service; null: the service itself holds it. */
  readonly place: HostedKeyPlace | null;
  /** Returns the key on this curve; undefined if it is none. The same bytes can be a key on both curves. */
  on(curve: Curve): Signer | undefined;
  /** Ends what a hosted key has open. Absent: nothing is open. */
  close?(): Promise<void>;
}

/** A keystore that was read, and whose key is still encrypted. */
export interface Keystore {
  /** The curves that the key is for. */
  readonly curves: readonly Curve[];
  /** Returns the keystore with its 32 bytes as a key on this curve alone; undefined if its format has no such keys. */
  only(curve: Curve): Keystore | undefined;
  /**
   * Decrypts the key and makes a signer with a key on each of the curves. If that fails, the error is one of the adapter that read the
   * keystore.
   */
  open(id: string, passphrase: string): Promise<HeldSigner>;
}

/** The signers of the service. */
export interface Signers {
  find(id: string): HeldSigner | undefined;
  /** The configuration file's signers, then the API's, each oldest first. */
  all(): readonly HeldSigner[];
  /** Adds a signer. `sealed`: the secret of the definition that it was opened from; null: it comes from the configuration file. */
  add(signer: HeldSigner, sealed: string | null): void;
  /** True if the signer was added with this secret, which no two definitions share. */
  isFrom(id: string, sealed: string | null): boolean;
  remove(id: string): void;
}

/** Creates an empty collection. */
export function createSigners(): Signers {
  const byId = new Map<string, { readonly signer: HeldSigner; readonly sealed: string | null }>();
  return {
    find: (id) => byId.get(id)?.signer,
    all: () => [...byId.values()].map(({ signer }) => signer),
    add: (signer, sealed) => void byId.set(signer.id, { signer, sealed }),
    isFrom: (id, sealed) => byId.get(id)?.sealed === sealed,
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

/** Returns the key of a signer for networks of this type, or why it has none. */
export function keyFor({ place, on }: HeldSigner, network: NetworkType): Signer | string {
  const unserved = place === null ? undefined : unservedReason(place, network);
  return unserved ?? on(curveOf(network)) ?? `the signer has no ${curveOf(network)} key`;
}

/** Returns the purpose that a signer's key is sealed for. */
export function signerPurpose(id: string): string {
  return `signer:${id}`;
}

/** Turns keys that the service itself holds into signers. */
export interface LocalKeys {
  /**
   * Returns the signer of a private key of 32 bytes, which it copies. Throws `FIELD_INVALID` for `config.key` if secp256k1 rejects the key.
   */
  open(id: string, privateKey: Uint8Array): HeldSigner;
  /**
   * Decrypts an Ethereum keystore. Throws `FIELD_INVALID` for `config.keystore` or `config.passphrase`. The caller should overwrite the
   * returned key.
   */
  fromKeystore(json: string, passphrase: string): Promise<Uint8Array>;
}

/** A signer of a hosted key that was opened, and its public key. */
export interface OpenedKey {
  readonly signer: HeldSigner;
  /** What to store at the first opening: later ones must find the same public key. */
  readonly pin: PinnedKey;
}

/** Opens keys outside of the service. */
export interface HostedKeys {
  /**
   * Opens a key: reads its public key, and compares it with the pinned one, if there is one. Throws DomainError: `FIELD_INVALID` for
   * `config` if the provider refuses the key, or has another one than the pinned; `SIGNER_UNAVAILABLE` if the provider is not reachable and
   * the public key not known.
   *
   * `secretsInFiles` reads the secrets that can change. It is called again when the provider refuses the current secrets. Absent: they
   * never change.
   */
  open(id: string, key: HostedKey, pin: PinnedKey | null, secretsInFiles?: () => Partial<HostedKey['secrets']>): Promise<OpenedKey>;
}

/** The dependencies of creating and deleting signers. */
export interface SignerDeps {
  readonly ids: Ids;
  readonly secretBox: Pick<SecretBox, 'seal'>;
  readonly signers: Signers;
  readonly directory: Pick<Directory, 'relayers'>;
  readonly localKeys: LocalKeys;
  readonly hostedKeys: HostedKeys;
  /** Ids of the configuration file's signers: the store must remember that one of them was deleted. */
  readonly fileSigners: ReadonlySet<string>;
  readonly exclusively: Exclusively;
  readonly writer: Pick<DefinitionWriter, 'commit'>;
}

/** A signer as requested. */
export interface NewSigner {
  /** Absent: a UUID. */
  readonly id: string | undefined;
  readonly key:
    | { readonly privateKey: Uint8Array }
    | { readonly keystore: string; readonly passphrase: string }
    | { readonly hosted: HostedKey };
}

/**
 * Creates a signer; the service stores its key, or the credentials of a hosted one, sealed. Throws `FIELD_INVALID`, `ID_EXISTS`,
 * `SIGNER_UNAVAILABLE`.
 */
export async function createSigner(
  deps: SignerDeps,
  { id: wantedId, key }: NewSigner,
  saveResponse: SaveResponse<HeldSigner> = () => [],
): Promise<HeldSigner> {
  const { ids, signers, exclusively, writer } = deps;
  const id = wantedId === undefined ? ids.random() : entryIdFromText(wantedId);
  const isTaken = () => signers.find(id) !== undefined;
  // Before a provider is called, too.
  if (isTaken()) throw taken(`Signer with ID ${id} already exists`, id);
  const { signer, definition, pin } = 'hosted' in key ? await openHosted(deps, id, key.hosted) : await openLocal(deps, id, key);
  return exclusively(async () => {
    if (isTaken()) throw taken(`Signer with ID ${id} already exists`, id);
    await writer.commit([definition, ...pin], saveResponse(signer), () => signers.add(signer, definition.sealed));
    return signer;
  }).catch(async (error: unknown) => {
    // If it is stored after all, it is opened again, unless that is known already.
    if (signers.find(id) !== signer) await signer.close?.();
    throw error;
  });
}

/** A signer to add, and what stores it. */
interface Opened {
  readonly signer: HeldSigner;
  readonly definition: Definition;
  /** None for a key that the service itself holds. */
  readonly pin: readonly Definition[];
}

async function openLocal(
  { localKeys, secretBox }: SignerDeps,
  id: string,
  key: Exclude<NewSigner['key'], { readonly hosted: HostedKey }>,
): Promise<Opened> {
  const privateKey = 'privateKey' in key ? key.privateKey : await localKeys.fromKeystore(key.keystore, key.passphrase);
  if (privateKey.length !== 32) throw invalidField('config.key', 'must be 32 bytes: 64 hex digits, with or without 0x');
  const signer = localKeys.open(id, privateKey);
  const definition = definitionFromKey(secretBox, id, privateKey);
  privateKey.fill(0);
  return { signer, definition, pin: [] };
}

async function openHosted({ hostedKeys, secretBox }: SignerDeps, id: string, key: HostedKey): Promise<Opened> {
  const { signer, pin } = await hostedKeys.open(id, key, null);
  const { content, secret } = storedFormOf(key);
  const sealed = secretBox.seal(secret, signerPurpose(id));
  return { signer, definition: { kind: 'signer', id, content, sealed }, pin: [definitionFromPin(pin)] };
}

/** Returns the definition that stores a key of 32 bytes. */
export function definitionFromKey(secretBox: Pick<SecretBox, 'seal'>, id: string, privateKey: Uint8Array): Definition {
  const sealed = secretBox.seal(Buffer.from(privateKey).toString('hex'), signerPurpose(id));
  return { kind: 'signer', id, content: { type: 'local' }, sealed };
}

/** What a signer's test found. */
export interface SignerTest {
  /** EIP-55; null: it is no secp256k1 key. */
  readonly evmAddress: string | null;
  /** 32 bytes; null: it is no ed25519 key. */
  readonly publicKey: Uint8Array | null;
  readonly milliseconds: number;
}

/** The text that a test signs. It is no transaction of any network, and no message that a caller could choose. */
const testText = Buffer.from('relayer signer test; this text has no meaning', 'utf8');

/** Signs a fixed text on each curve of a signer. A hosted key's signature is verified. Throws `SIGNER_NOT_FOUND`, `SIGNER_UNAVAILABLE`. */
export async function testSigner(
  { signers, keccak256, elapsedMs }: Pick<SignerDeps, 'signers'> & { readonly keccak256: Keccak256; readonly elapsedMs: () => number },
  id: string,
): Promise<SignerTest> {
  const { evmAddress, on } = getSigner(signers, id);
  const startMs = elapsedMs();
  const [evm, ed25519] = [on('secp256k1'), on('ed25519')];
  if (evm?.curve === 'secp256k1') await evm.signDigest(keccak256(testText));
  if (ed25519?.curve === 'ed25519') await ed25519.sign(testText);
  const publicKey = ed25519?.curve === 'ed25519' ? ed25519.publicKey : null;
  return { evmAddress, publicKey, milliseconds: Math.round(elapsedMs() - startMs) };
}

/** Deletes a signer and its stored key; a keystore file stays. Throws `SIGNER_NOT_FOUND`, `IN_USE`. */
export function deleteSigner(deps: SignerDeps, id: string): Promise<void> {
  const { signers, directory, fileSigners, exclusively, writer } = deps;
  return exclusively(async () => {
    getSigner(signers, id);
    const users = directory.relayers().flatMap((relayer) => (relayer.signerId === id ? [relayer.id] : []));
    if (users.length > 0) throw inUse('Signer', users, 'delete them first');
    const key = { kind: 'signer', id } as const;
    const write = fileSigners.has(id) ? { ...key, content: null, sealed: null } : key;
    await writer.commit([write, { kind: 'pinned_key', id }], []);
  });
}
