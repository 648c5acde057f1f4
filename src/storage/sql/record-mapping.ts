/** Texts up to this length are kept; a longer one, of a contract call with much data, would take too much memory beside its object. */
const maxKeptLength = 4_096;

/** Converts a field of a record to and from the value in its column. */
interface Conversion<V, Row> {
  readonly column: keyof Row & string;
  write(value: V): unknown;
  read(stored: never): V;
}

/** The columns that hold values of type `V` unchanged. */
type SameColumn<V, Row> = { [C in keyof Row & string]: [Row[C], V] extends [V, Row[C]] ? C : never }[keyof Row & string];

/** How the records of one table are stored. */
export interface RecordMapping<T, Row> {
  readonly columns: readonly (keyof Row & string)[];
  toRow(record: T): Row;
  fromRow(row: Row): T;
}

const unchanged = (value: unknown) => value;

/**
 * Maps each field of a record to its column: by name if both have the same type, else by a conversion such as `json`. The caller maps
 * `otherFields` and `otherColumns` itself; they start as null.
 */
export function recordMapping<T extends object, Row extends object, F extends keyof T = keyof T>(
  fields: { readonly [K in F]-?: SameColumn<T[K], Row> | Conversion<T[K], Row> },
  otherFields: readonly Exclude<keyof T & string, F>[] = [],
  otherColumns: readonly (keyof Row & string)[] = [],
): RecordMapping<T, Row> {
  const mapped = Object.entries<string | Conversion<unknown, Row>>(fields).map(([field, target]) =>
    typeof target === 'string' ? { field, column: target, write: unchanged, read: unchanged } : { field, ...target },
  );
  const emptyRow = template([...mapped.map(({ column }) => column), ...otherColumns]);
  const emptyRecord = template([...mapped.map(({ field }) => field), ...otherFields]);
  return {
    columns: Object.keys(emptyRow) as (keyof Row & string)[],
    toRow(record) {
      const row = { ...emptyRow };
      for (const { field, column, write } of mapped) row[column] = write(record[field as keyof T]);
      return row as Row;
    },
    fromRow(row) {
      const record = { ...emptyRecord };
      for (const { field, column, read } of mapped) record[field] = read(row[column as keyof Row] as never);
      return record as T;
    },
  };
}

/** Makes an object to copy. V8 turns an object that gets a dozen properties one by one into a hash table, but not one that it parses. */
export function template(keys: readonly string[]): Record<string, unknown> {
  return JSON.parse(JSON.stringify(Object.fromEntries(keys.map((key) => [key, null]))));
}

/** Stores a value as JSON text. */
export function json<C extends string>(column: C) {
  return { column, write: (value: unknown) => JSON.stringify(value), read: (stored: string) => JSON.parse(stored) };
}

/**
 * Stores an object, or null, as JSON text in which a bigint is `{"$int":"<decimal>"}`: a number in JSON loses digits when it is read. Keeps
 * a short text as long as its object lives, so the object must never change: a transaction's row is written several times, with the same
 * content.
 */
export function exactJson<C extends string>(column: C) {
  const texts = new WeakMap<object, string>();
  return {
    column,
    write(value: object | null) {
      if (value === null) return null;
      const text = texts.get(value) ?? JSON.stringify(marked(value));
      if (text.length <= maxKeptLength) texts.set(value, text);
      return text;
    },
    read: (stored: string | null) => (stored === null ? null : restored(JSON.parse(stored))) as never,
  };
}

/** Stores an integer of any size, or null, as decimal text. */
export function decimalText<C extends string>(column: C) {
  return {
    column,
    write: (value: bigint | null) => value?.toString() ?? null,
    read: (stored: string | null) => (stored === null ? null : BigInt(stored)) as never,
  };
}

/** Stores a boolean as 0 or 1. */
export function flag<C extends string>(column: C) {
  return { column, write: (value: boolean) => (value ? 1 : 0), read: (stored: number) => stored === 1 };
}

/** Returns plain data with its bigints marked, several times faster than a replacer of JSON.stringify does. */
function marked(value: unknown): unknown {
  if (typeof value === 'bigint') return { $int: value.toString() };
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(marked);
  const parts: Record<string, unknown> = {};
  for (const [key, part] of Object.entries(value)) parts[key] = marked(part);
  return parts;
}

/** Puts the bigints back in place, several times faster than a reviver of JSON.parse does. */
function restored(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if ('$int' in value && typeof value.$int === 'string') return BigInt(value.$int);
  const parts = value as Record<string, unknown>;
  for (const key of Object.keys(parts)) parts[key] = restored(parts[key]);
  return parts;
}
