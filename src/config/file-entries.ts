import type { Problem } from './problem.js';

/** One entry of a list in the configuration file, and where it is (`relayers[2]`). */
export interface FileEntry {
  readonly value: unknown;
  readonly path: string;
}

/** The entries of a list; a list that is absent or null has none. */
export function fileEntries(value: unknown, path: string, problems: Problem[]): readonly FileEntry[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value.map((item: unknown, index) => ({ value: item, path: `${path}[${index}]` }));
  problems.push({ path, problem: 'must be a list' });
  return [];
}

/** A text field of an entry, before its schema has judged it; undefined when it is no object or has no such text. */
export function textField(entry: FileEntry, name: string): string | undefined {
  if (typeof entry.value !== 'object' || entry.value === null) return undefined;
  const value: unknown = Object.getOwnPropertyDescriptor(entry.value, name)?.value;
  return typeof value === 'string' ? value : undefined;
}

/** The texts in `field` over all entries, valid or not, so that a reference to a broken entry is not a second problem. Reports doubles. */
export function declaredNames(entries: readonly FileEntry[], field: string, problems: Problem[]): ReadonlySet<string> {
  const firstPath = new Map<string, string>();
  for (const entry of entries) {
    const name = textField(entry, field);
    if (name === undefined) continue;
    const first = firstPath.get(name);
    if (first === undefined) firstPath.set(name, entry.path);
    else problems.push({ path: `${entry.path}.${field}`, problem: `${JSON.stringify(name)} is already used by ${first}` });
  }
  return new Set(firstPath.keys());
}
