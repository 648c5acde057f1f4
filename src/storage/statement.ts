import type { Compilable } from 'kysely';

/** What both databases store. */
export type SqlValue = string | number | null;

/** A statement compiled once: `P` are its named values, `R` the rows that it returns. */
export interface Statement<P extends object, R = unknown> {
  /** Unique among all statements. */
  readonly name: string;
  readonly sql: string;
  /** The values in the order of the statement's parameters. */
  bind(values: P): SqlValue[];
  /** Only for the type of the rows; never set. */
  readonly row?: R;
}

/** Stands in a query where a value goes. */
class Placeholder {
  readonly key: string;

  constructor(key: string) {
    this.key = key;
  }
}

/**
 * Compiles the query that `build` makes from named placeholders. kysely carries values through unseen, so a placeholder comes back as a
 * parameter and says which value belongs at its place.
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

/** A statement that has a part for each of a number of values: compiled once for each number. */
export function perCount<S>(make: (count: number) => S): (count: number) => S {
  const made = new Map<number, S>();
  return (count) => {
    const known = made.get(count) ?? make(count);
    made.set(count, known);
    return known;
  };
}

/** The placeholders of these columns, as an object that an insert or an update takes. */
export function pick<P extends object, K extends keyof P>(values: P, columns: readonly K[]): Pick<P, K> {
  return Object.fromEntries(columns.map((column) => [column, values[column]])) as Pick<P, K>;
}
