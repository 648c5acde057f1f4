import type { Compilable } from 'kysely';

/** A value that both databases can store. */
export type SqlValue = string | number | null;

/** A statement that is compiled once, with named values `P` and result rows `R`. */
export interface Statement<P extends object, R = unknown> {
  /** Unique among all statements. */
  readonly name: string;
  readonly sql: string;
  /** Returns the values in the order of the statement's parameters. */
  bind(values: P): SqlValue[];
  /** Carries the type of the rows; never set. */
  readonly row?: R;
}

/** Marks the place of a value in a query. */
class Placeholder {
  readonly key: string;

  constructor(key: string) {
    this.key = key;
  }
}

/**
 * Compiles the query that `build` makes from named placeholders. kysely passes values through unchanged, so each placeholder comes back as
 * a parameter and names the value that belongs there.
 */
export function statement<P extends object, R>(name: string, build: (values: P) => Compilable<R>): Statement<P, R> {
  const placeholders = new Proxy({}, { get: (_, key) => new Placeholder(String(key)) }) as P;
  const compiled = build(placeholders).compile();
  const { parameters } = compiled;
  return {
    name,
    sql: compiled.sql,
    bind: (values) =>
      parameters.map((parameter) => (parameter instanceof Placeholder ? values[parameter.key as keyof P] : parameter) as SqlValue),
  };
}

/** Makes a statement whose SQL depends on a number of values, once for each number. */
export function perCount<S>(make: (count: number) => S): (count: number) => S {
  const made = new Map<number, S>();
  return (count) => {
    const known = made.get(count) ?? make(count);
    made.set(count, known);
    return known;
  };
}

/** The numbered values of a statement that is compiled per count. */
export function numbered<K extends string, V>(name: K, values: readonly V[]): { readonly [key in `${K}_${number}`]: V } {
  return Object.fromEntries(values.map((value, index) => [`${name}_${index}`, value])) as { [key in `${K}_${number}`]: V };
}

/** Repeats the last value, so that few statements serve lists of any length. */
export function paddedToPowerOfTwo<V>(values: readonly V[]): readonly V[] {
  if (values.length === 0) return values;
  const length = 2 ** Math.ceil(Math.log2(values.length));
  return [...values, ...values.slice(-1).flatMap((last) => Array<V>(length - values.length).fill(last))];
}

/** The placeholders of some columns, for an insert or an update. */
export function pick<P extends object, K extends keyof P>(values: P, columns: readonly K[]): Pick<P, K> {
  return Object.fromEntries(columns.map((column) => [column, values[column]])) as Pick<P, K>;
}

/** Runs a read on committed rows. */
export type Query = <P extends object, R>(statement: Statement<P, R>, values: P) => Promise<readonly R[]>;
