/** How a bigint stands in the text: JSON's own numbers would lose digits when they are read. */
interface TaggedInteger {
  readonly $int: string;
}

function isTaggedInteger(value: unknown): value is TaggedInteger {
  return typeof value === 'object' && value !== null && '$int' in value && typeof value.$int === 'string';
}

/** JSON text of a plain value, in which a bigint is `{"$int":"<decimal>"}`. */
export function exactJsonFrom(value: object): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? { $int: part.toString() } : part));
}

/** What `exactJsonFrom` was given. The caller names the type: the text comes from our own table. */
export function valueFromExactJson<T>(text: string): T {
  return JSON.parse(text, (_, part: unknown) => (isTaggedInteger(part) ? BigInt(part.$int) : part)) as T;
}
