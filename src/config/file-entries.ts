import type { DescMessage, MessageShape } from '@bufbuild/protobuf';
import { CodecCompiler } from '../codec/message-codec.js';
import { type ObjectCodec, readObject } from '../codec/object-codec.js';
import { Reading } from '../codec/reading.js';
import type { JsonObject, JsonValue } from '../json/json-value.js';
import { likelyName } from '../json/likely-name.js';
import type { Problems } from './problem.js';

/** One entry of a list in the configuration file, and its path (`relayers[2]`). */
export interface FileEntry {
  readonly value: JsonValue;
  readonly path: string;
}

/** Returns the entries of a list. A list that is absent or null has none. */
export function fileEntries(value: JsonValue | undefined, path: string, problems: Problems): readonly FileEntry[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value.map((item, index) => ({ value: item, path: `${path}[${index}]` }));
  problems.add(path, 'must be an array');
  return [];
}

/** Returns an entry as an object. If it is not an object, adds the problem and returns undefined. */
export function objectOf({ value, path }: FileEntry, problems: Problems): JsonObject | undefined {
  if (value instanceof Map) return value;
  problems.add(path, 'must be an object');
  return undefined;
}

/** Returns a text of an entry, valid or not; undefined if it has no such text. */
export function textIn(value: JsonValue, name: string): string | undefined {
  const text = value instanceof Map ? value.get(name) : undefined;
  return typeof text === 'string' ? text : undefined;
}

/**
 * Returns the texts under `name` of all entries, valid or not, so that a reference to a broken entry is not a second problem. Reports
 * duplicates.
 */
export function declaredNames(entries: readonly FileEntry[], name: string, problems: Problems): ReadonlySet<string> {
  const firstPath = new Map<string, string>();
  for (const { value, path } of entries) {
    const text = textIn(value, name);
    if (text === undefined) continue;
    const first = firstPath.get(text);
    if (first === undefined) firstPath.set(text, path);
    else problems.add(`${path}.${name}`, `${JSON.stringify(text)} is already used by ${first}`);
  }
  return new Set(firstPath.keys());
}

const compiler = new CodecCompiler();

/** Compiles the codec that the API uses for this message too. `exclude` names fields that the file does not have. */
export function codecOf<Desc extends DescMessage>(desc: Desc, exclude?: readonly string[]): ObjectCodec & { readonly desc: Desc } {
  return compiler.object(desc, exclude && new Set(exclude)) as ObjectCodec & { readonly desc: Desc };
}

/** Reads an entry as a message of the contract. Adds all problems; a field with a problem is not set. */
export function readMessage<Desc extends DescMessage>(
  codec: ObjectCodec & { readonly desc: Desc },
  object: JsonObject,
  path: string,
  problems: Problems,
): MessageShape<Desc> {
  // The API ignores a policy of another network type with a warning, which the author of a file could miss. In the file it is an error.
  const reading = new Reading(undefined, [], 'refused');
  const message = readObject(codec, object, '', reading);
  problems.addFields(path, reading.problems);
  return message as unknown as MessageShape<Desc>;
}

/** Reports each of these members that is absent, null or an empty text, unless it already has a problem. */
export function requireMembers(object: JsonObject, names: readonly string[], path: string, problems: Problems): void {
  for (const name of names) {
    const value = object.get(name) ?? null;
    const at = `${path}.${name}`;
    if (problems.has(at)) continue;
    if (value === null) problems.add(at, 'is required');
    else if (value === '') problems.add(at, 'must not be empty');
  }
}

/** The names that a reference may have: a set, or a map with these names as keys. */
type Names = Pick<ReadonlySet<string>, 'has' | 'keys'>;

/** Reports a reference to something that is not in the configuration. `what` begins the sentence: `no signer has the id`. */
export function checkReference(name: string, known: Names, what: string, path: string, problems: Problems): void {
  if (name === '' || known.has(name) || problems.has(path)) return;
  const likely = likelyName(name, known.keys());
  problems.add(path, `${what} ${JSON.stringify(name)}${likely === undefined ? '' : `; did you mean ${JSON.stringify(likely)}?`}`);
}
