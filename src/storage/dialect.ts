import {
  type ColumnDataType,
  type ColumnDefinitionBuilder,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import type { Schema } from './schema.js';

/** Every difference in SQL between the two databases. */
export interface Dialect {
  readonly name: 'sqlite' | 'postgres';
  /** Builds and compiles statements; cannot run them. */
  readonly builder: Kysely<Schema>;
  /** The type of a column that numbers the rows in the order of their inserts. */
  readonly sequenceType: ColumnDataType;
  /** Completes such a column. */
  sequence(column: ColumnDefinitionBuilder): ColumnDefinitionBuilder;
}

/** SQLite 3. */
export const sqlite: Dialect = {
  name: 'sqlite',
  builder: new Kysely<Schema>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new SqliteIntrospector(db),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  }),
  sequenceType: 'integer',
  sequence: (column) => column.primaryKey().autoIncrement(),
};

/** PostgreSQL. */
export const postgres: Dialect = {
  name: 'postgres',
  builder: new Kysely<Schema>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  }),
  sequenceType: 'bigserial',
  sequence: (column) => column.primaryKey(),
};
