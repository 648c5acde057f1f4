/** How a bigint stands in the text: JSON's own numbers would lose digits when they are read. */
interface TaggedInteger {
  readonly $int: string;
}

function isTaggedInteger(value: object): value is TaggedInteger {
  return '$int' in value && typeof value.$int === 'string';
}

/** JSON text of a plain value, in which a bigint is `{"$int":"<decimal>"}`. */
export function exactJsonFrom(value: object): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? { $int: part.toString() } : part));
}

/** Puts the bigints back in place, which is several times faster than a reviver of JSON.parse. */
function restored(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (isTaggedInteger(value)) return BigInt(value.$int);
  const parts = value as Record<string, unknown>;
  for (const key of Object.keys(parts)) parts[key] = restored(parts[key]);
  return parts;
}

/** What `exactJsonFrom` was given. The caller names the type: the text comes from our own table. */
export function valueFromExactJson<T>(text: string): T {
  return restored(JSON.parse(text)) as T;
}
