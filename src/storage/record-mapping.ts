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

/** Maps each field of a record to its column: by name if both have the same type, else by a conversion such as `json`. */
export function recordMapping<T extends object, Row extends object>(
  fields: {
    readonly [F in keyof T]-?: SameColumn<T[F], Row> | Conversion<T[F], Row>;
  },
): RecordMapping<T, Row> {
  const mapped = Object.entries<string | Conversion<unknown, Row>>(fields).map(([field, target]) =>
    typeof target === 'string' ? { field, column: target, write: unchanged, read: unchanged } : { field, ...target },
  );
  return {
    columns: mapped.map(({ column }) => column as keyof Row & string),
    toRow(record) {
      const row: Record<string, unknown> = {};
      for (const { field, column, write } of mapped) row[column] = write(record[field as keyof T]);
      return row as Row;
    },
    fromRow(row) {
      const record: Record<string, unknown> = {};
      for (const { field, column, read } of mapped) record[field] = read(row[column as keyof Row] as never);
      return record as T;
    },
  };
}

/** Stores a value as JSON text. */
export function json<C extends string>(column: C) {
  return { column, write: (value: unknown) => JSON.stringify(value), read: (stored: string) => JSON.parse(stored) };
}

/** Stores a value, or null, as JSON text in which a bigint is `{"$int":"<decimal>"}`: a number in JSON loses digits when it is read. */
export function exactJson<C extends string>(column: C) {
  return {
    column,
    write: (value: unknown) =>
      value === null ? null : JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? { $int: `${part}` } : part)),
    // biome-ignore lint/suspicious/noExplicitAny: the text comes from our own table
    read: (stored: string | null): any => (stored === null ? null : restored(JSON.parse(stored))),
  };
}

/** Stores an integer of any size, or null, as decimal text. */
export function decimalText<C extends string>(column: C) {
  return {
    column,
    write: (value: bigint | null) => value?.toString() ?? null,
    // biome-ignore lint/suspicious/noExplicitAny: null for a column that may be null only
    read: (stored: string | null): any => (stored === null ? null : BigInt(stored)),
  };
}

/** Stores yes or no as both dialects can store and compare it. */
export function flag<C extends string>(column: C) {
  return { column, write: (value: boolean) => (value ? 1 : 0), read: (stored: number) => stored === 1 };
}

/** Puts the bigints back in place, several times faster than a reviver of JSON.parse does. */
function restored(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if ('$int' in value && typeof value.$int === 'string') return BigInt(value.$int);
  const parts = value as Record<string, unknown>;
  for (const key of Object.keys(parts)) parts[key] = restored(parts[key]);
  return parts;
}
