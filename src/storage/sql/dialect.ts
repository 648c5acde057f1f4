import {
  type ColumnDataType,
  type ColumnDefinitionBuilder,
  DummyDriver,
  Kysely,
  type Dialect as KyselyDialect,
  type LimitNode,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type RawBuilder,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely';
import type { Schema } from './schema.js';

/** Every difference in SQL between the two databases. */
export interface Dialect {
  readonly name: 'sqlite' | 'postgres';
  /** Builds and compiles statements; cannot run them. */
  readonly builder: Kysely<Schema>;
  /** True if several processes may write at the same time, so a row on which a statement bases a decision must be locked first. */
  readonly hasSeveralWriters: boolean;
  /** The type of a column that numbers the rows in the order of their inserts. */
  readonly sequenceType: ColumnDataType;
  /** Completes such a column. */
  sequence(column: ColumnDefinitionBuilder): ColumnDefinitionBuilder;
  /** The time of the database's clock, in milliseconds since the epoch. SQLite has the clock of its process's machine. */
  readonly timeMs: RawBuilder<number>;
  /** Returns the text of a JSON object in a column, with null as the value of a member if it has that. */
  jsonWithNull(column: string, member: string): RawBuilder<string>;
}

function builderFor(parts: Omit<KyselyDialect, 'createDriver'>): Kysely<Schema> {
  return new Kysely<Schema>({ dialect: { ...parts, createDriver: () => new DummyDriver() } });
}

/**
 * Makes a limit an expression. If it is a placeholder alone, SQLite plans for its value, and so prepares the statement again each time that
 * it gets values, which takes up to 20 times as long as running it.
 */
class SqliteCompiler extends SqliteQueryCompiler {
  protected override visitLimit(node: LimitNode): void {
    super.visitLimit(node);
    this.append(' + 0');
  }
}

/** SQLite 3. */
export const sqlite: Dialect = {
  name: 'sqlite',
  builder: builderFor({
    createAdapter: () => new SqliteAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteCompiler(),
  }),
  hasSeveralWriters: false,
  sequenceType: 'integer',
  sequence: (column) => column.primaryKey().autoIncrement(),
  timeMs: sql`cast(unixepoch('subsec') * 1000 as integer)`,
  jsonWithNull: (column, member) => sql`json_replace(${sql.ref(column)}, ${sql.lit(`$.${member}`)}, null)`,
};

/** PostgreSQL. */
export const postgres: Dialect = {
  name: 'postgres',
  builder: builderFor({
    createAdapter: () => new PostgresAdapter(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  }),
  hasSeveralWriters: true,
  sequenceType: 'bigserial',
  sequence: (column) => column.primaryKey(),
  timeMs: sql`floor(extract(epoch from clock_timestamp()) * 1000)::float8`,
  jsonWithNull: (column, member) => sql`jsonb_set(${sql.ref(column)}::jsonb, ${sql.lit(`{${member}}`)}, 'null', false)::text`,
};
