import { CreateSignerRequestSchema } from '../../gen/relayer/v1/signer_service_pb.js';
import { restNameOf } from '../codec/field-rules.js';
import { type HostedField, hostedFieldsOf, hostedKeyFromProto, hostedTypes } from '../codec/signer-values.js';
import { type Curve, curveOf, type NetworkType } from '../core/records/network.js';
import { type HostedKey, type HostedType, unservedReason } from '../core/signer/hosted-key.js';
import type { Keystore } from '../core/signer/signers.js';
import { entryIdFromText } from '../core/text/entry-id.js';
import type { JsonObject } from '../json/json-value.js';
import { likelyName } from '../json/likely-name.js';
import type { Environment } from './environment.js';
import { codecOf, declaredNames, type FileEntry, objectOf, readMessage, requireMembers, textIn } from './file-entries.js';
import type { Problems } from './problem.js';
import { readSecretFile } from './secret-file.js';
import { fileOfReference, resolveSecret } from './secret-reference.js';

/** A key in a keystore file. */
export interface LocalSignerEntry {
  readonly id: string;
  readonly keystore: Keystore;
  /** Secret. */
  readonly passphrase: string;
}

/** A key outside of the service. */
export interface HostedSignerEntry {
  readonly id: string;
  readonly hosted: HostedKey;
  /** Reads its secrets that are in files, which may have changed since the start. One whose file cannot be read is left out. */
  readonly secretsInFiles: () => Partial<HostedKey['secrets']>;
}

/** A signer of the file. */
export type SignerEntry = LocalSignerEntry | HostedSignerEntry;

/** What the configuration says about a signer's key. */
export interface DeclaredSigner {
  /** Returns why the key cannot sign for networks of this type; undefined: it can, or only its opening shows that. */
  unservedReason(network: NetworkType): string | undefined;
}

/**
 * Reads a keystore file, whose path is relative to the working folder unless absolute, or returns why it is not a keystore. Needs no
 * passphrase.
 */
export type ReadKeystore = (path: string) => Keystore | { readonly problem: string };

/** Where keys and secrets come from. */
export interface SignerSources {
  /** The variables that hold secrets. */
  readonly env: Environment;
  readonly readKeystore: ReadKeystore;
}

/** The signers of the file. */
export interface SignerEntries {
  readonly signers: readonly SignerEntry[];
  /** The ids of all entries, valid or not; undefined if nothing is known of the key. */
  readonly declared: ReadonlyMap<string, DeclaredSigner | undefined>;
}

const codec = codecOf(CreateSignerRequestSchema);

/** Reads the signers and their keystores. An entry is a CreateSigner request with the path of a keystore file instead of a key. */
export function signerEntries(entries: readonly FileEntry[], sources: SignerSources, problems: Problems): SignerEntries {
  const declared = new Map<string, DeclaredSigner | undefined>();
  for (const id of declaredNames(entries, 'id', problems)) declared.set(id, undefined);
  const signers: SignerEntry[] = [];
  for (const entry of entries) {
    const signer = signerFromEntry(entry, sources, problems);
    if (signer === undefined) continue;
    signers.push(signer);
    declared.set(signer.id, {
      unservedReason: (network) => ('hosted' in signer ? unservedReason(signer.hosted, network) : keystoreProblem(signer, network)),
    });
  }
  return { signers, declared };
}

function keystoreProblem({ id, keystore }: LocalSignerEntry, network: NetworkType): string | undefined {
  const needed = curveOf(network);
  if (keystore.curves.includes(needed)) return undefined;
  const has = `the keystore of ${JSON.stringify(id)} has the curve ${keystore.curves.join(' and ')}`;
  const same =
    keystore.only(needed) === undefined ? '' : ` To use the same key there, set "curve": "${needed}" in the config of the signer.`;
  return `${has}; ${network} networks need ${needed}.${same} To create one: relayer keystore create --type ${needed}`;
}

function signerFromEntry(entry: FileEntry, sources: SignerSources, problems: Problems): SignerEntry | undefined {
  const object = objectOf(entry, problems);
  if (object === undefined) return undefined;
  const type = textIn(object, 'type');
  const hosted = hostedTypes.find((one) => one === type);
  if (hosted !== undefined) return hostedFromEntry(object, hosted, entry.path, sources.env, problems);
  if (type === undefined || type === 'local') return localFromEntry(object, entry.path, sources, problems);
  const known = ['local', ...hostedTypes];
  const likely = likelyName(type, known);
  const help = likely === undefined ? `supported types: ${known.join(', ')}` : `did you mean ${JSON.stringify(likely)}?`;
  problems.add(`${entry.path}.type`, `signers of type ${JSON.stringify(type)} are not supported; ${help}`);
  return undefined;
}

function localFromEntry(
  object: JsonObject,
  path: string,
  { env, readKeystore }: SignerSources,
  problems: Problems,
): LocalSignerEntry | undefined {
  const config = object.get('config') ?? null;
  const isObject = config instanceof Map;
  const location = isObject ? locationIn(config, `${path}.config`, env, problems) : null;
  const { id } = readMessage(codec, isObject ? new Map(object).set('config', asRequest(config)) : object, path, problems);
  requireMembers(object, ['id', 'type', 'config'], path, problems);
  problems.check(path, () => entryIdFromText(id ?? ''));
  if (problems.has(path) || id === undefined || location === null) return undefined;
  const keystore = readKeystore(location.path);
  if ('problem' in keystore) {
    problems.add(`${path}.config.path`, keystore.problem);
    return undefined;
  }
  const { curve, passphrase } = location;
  const chosen = curve === null ? keystore : keystore.only(curve);
  if (chosen !== undefined) return { id, keystore: chosen, passphrase };
  problems.add(`${path}.config.curve`, `is ${curve}, but the keystore has the curve ${keystore.curves.join(' and ')}`);
  return undefined;
}

/** Reads a hosted key. Its secrets are references in the file, and texts in the API; its other texts may be references. */
function hostedFromEntry(
  object: JsonObject,
  type: HostedType,
  path: string,
  env: Environment,
  problems: Problems,
): HostedSignerEntry | undefined {
  const given = object.get('config') ?? null;
  const config = given instanceof Map ? copyOf(given) : given;
  const files = config instanceof Map ? resolveSecrets(config, hostedFieldsOf(type), `${path}.config`, env, problems) : new Map();
  const { id, config: read } = readMessage(codec, new Map(object).set('config', config), path, problems);
  requireMembers(object, ['id', 'type', 'config'], path, problems);
  problems.check(path, () => entryIdFromText(id ?? ''));
  const hosted = read.case === undefined || read.case === 'local' ? undefined : problems.check(path, () => hostedKeyFromProto(read));
  if (problems.has(path) || id === undefined || hosted === undefined) return undefined;
  return { id, hosted, secretsInFiles: () => secretsIn(files) };
}

function secretsIn(files: ReadonlyMap<string, string>): Partial<HostedKey['secrets']> {
  const read = [...files].flatMap(([name, file]) => {
    const found = readSecretFile(file);
    return 'text' in found ? [[name, found.text]] : [];
  });
  return Object.fromEntries(read);
}

/** Replaces references by their texts, and returns the files of secrets by the names of their fields. */
function resolveSecrets(
  config: JsonObject,
  fields: readonly HostedField[],
  path: string,
  env: Environment,
  problems: Problems,
): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (const { path: parts, name, isSecret } of fields) {
    const holder = holderOf(config, parts);
    const last = name.slice(name.lastIndexOf('.') + 1);
    const reference = holder?.get(last) ?? null;
    // Other texts may be references, too: OpenZeppelin Relayer has them for the ids of Azure's tenant and application.
    if (holder === undefined || reference === null || !(isSecret || reference instanceof Map)) continue;
    const secret = resolveSecret(reference, `${path}.${name}`, env, problems);
    if (secret === undefined) holder.delete(last);
    else holder.set(last, secret);
    const file = fileOfReference(reference);
    if (isSecret && file !== undefined) files.set(name, file);
  }
  return files;
}

/** Returns the object that the last field of the path is in; undefined: there is none. */
function holderOf(config: JsonObject, path: HostedField['path']): JsonObject | undefined {
  let holder: JsonObject | undefined = config;
  for (const field of path.slice(0, -1)) {
    const inner: unknown = holder?.get(restNameOf(field));
    holder = inner instanceof Map ? inner : undefined;
  }
  return holder;
}

function copyOf(object: JsonObject): JsonObject {
  return new Map([...object].map(([name, value]) => [name, value instanceof Map ? copyOf(value) : value]));
}

const curves = ['secp256k1', 'ed25519'] as const;

/** Returns where a keystore is, its passphrase, and the curve that the operator chose for its key. */
function locationIn(
  config: JsonObject,
  path: string,
  env: Environment,
  problems: Problems,
): { readonly path: string; readonly passphrase: string; readonly curve: Curve | null } {
  const file = config.get('path') ?? null;
  const reference = config.get('passphrase') ?? null;
  requireMembers(config, ['path', 'passphrase'], path, problems);
  if (file !== null && typeof file !== 'string') problems.add(`${path}.path`, 'must be a string');
  for (const name of ['key', 'keystore'])
    if (config.has(name))
      problems.add(`${path}.${name}`, 'is not supported in the file; put the key into a keystore file and set path to it');
  const passphrase = reference === null ? undefined : resolveSecret(reference, `${path}.passphrase`, env, problems);
  const named = config.get('curve') ?? null;
  const curve = curves.find((one) => one === named) ?? null;
  if (named !== curve) problems.add(`${path}.curve`, 'must be "secp256k1" or "ed25519"');
  return { path: String(file), passphrase: passphrase ?? '', curve };
}

/** Returns the `config` as the API takes it. The keystore is a placeholder, because the service decrypts it only when it starts. */
function asRequest(config: JsonObject): JsonObject {
  const request: JsonObject = new Map(config);
  request.set('keystore', new Map()).set('passphrase', '');
  for (const name of ['path', 'key', 'curve']) request.delete(name);
  return request;
}
