import { CreateSignerRequestSchema } from '../../gen/relayer/v1/signer_service_pb.js';
import { entryIdFromText } from '../core/entry-id.js';
import type { Curve } from '../core/ports/signer.js';
import type { JsonObject } from '../json/json-value.js';
import type { Environment } from './environment.js';
import { codecOf, declaredNames, type FileEntry, objectOf, readMessage, requireMembers, textIn } from './file-entries.js';
import type { Problems } from './problem.js';
import { resolveSecret } from './secret-reference.js';

/** A key in a keystore file. */
export interface LocalSignerEntry {
  readonly id: string;
  /** The keystore file, relative to the working folder unless absolute. */
  readonly path: string;
  /** Secret. */
  readonly passphrase: string;
}

/** Returns the curves that the key in a keystore file is for, or why the file is not a keystore. Needs no passphrase. */
export type CurvesOfKeystore = (path: string) => Promise<readonly Curve[] | { readonly problem: string }>;

/** The signers of the file. */
export interface SignerEntries {
  readonly signers: readonly LocalSignerEntry[];
  /** The ids of all entries, valid or not, with the curves that they can sign on; undefined if those are unknown. */
  readonly declared: ReadonlyMap<string, readonly Curve[] | undefined>;
}

const codec = codecOf(CreateSignerRequestSchema);

/** Reads the signers and the curves of their keystores. An entry is a CreateSigner request with the path of a keystore file instead of a key. */
export async function signerEntries(
  entries: readonly FileEntry[],
  env: Environment,
  curvesOfKeystore: CurvesOfKeystore,
  problems: Problems,
): Promise<SignerEntries> {
  const declared = new Map<string, readonly Curve[] | undefined>();
  for (const id of declaredNames(entries, 'id', problems)) declared.set(id, undefined);
  const signers: LocalSignerEntry[] = [];
  for (const entry of entries) {
    const signer = signerFromEntry(entry, env, problems);
    if (signer === undefined) continue;
    signers.push(signer);
    const curves = await curvesOfKeystore(signer.path);
    if ('problem' in curves) problems.add(`${entry.path}.config.path`, curves.problem);
    else declared.set(signer.id, curves);
  }
  return { signers, declared };
}

function signerFromEntry(entry: FileEntry, env: Environment, problems: Problems): LocalSignerEntry | undefined {
  const { path } = entry;
  const object = objectOf(entry, problems);
  if (object === undefined) return undefined;
  const type = textIn(object, 'type');
  if (type !== undefined && type !== 'local') {
    problems.add(`${path}.type`, `signers of type ${JSON.stringify(type)} are not supported yet; use "local"`);
    return undefined;
  }
  const config = object.get('config') ?? null;
  const isObject = config instanceof Map;
  const keystore = isObject ? keystoreFrom(config, `${path}.config`, env, problems) : null;
  const { id } = readMessage(codec, isObject ? new Map(object).set('config', asRequest(config)) : object, path, problems);
  requireMembers(object, ['id', 'type', 'config'], path, problems);
  problems.check(path, () => entryIdFromText(id ?? ''));
  return problems.has(path) || id === undefined || keystore === null ? undefined : { id, ...keystore };
}

function keystoreFrom(config: JsonObject, path: string, env: Environment, problems: Problems): Omit<LocalSignerEntry, 'id'> {
  const file = config.get('path') ?? null;
  const reference = config.get('passphrase') ?? null;
  requireMembers(config, ['path', 'passphrase'], path, problems);
  if (file !== null && typeof file !== 'string') problems.add(`${path}.path`, 'must be a string');
  for (const name of ['key', 'keystore'])
    if (config.has(name))
      problems.add(`${path}.${name}`, 'is not supported in the file; put the key into a keystore file and set path to it');
  const passphrase = reference === null ? undefined : resolveSecret(reference, `${path}.passphrase`, env, problems);
  return { path: String(file), passphrase: passphrase ?? '' };
}

/** Returns the `config` as the API takes it. The keystore is a placeholder, because the service reads the file only when it starts. */
function asRequest(config: JsonObject): JsonObject {
  const request: JsonObject = new Map(config);
  request.set('keystore', new Map()).set('passphrase', '');
  for (const name of ['path', 'key']) request.delete(name);
  return request;
}
