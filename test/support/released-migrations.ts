import { existsSync, readFileSync } from 'node:fs';
import { migrationsFor } from '../../src/storage/database/migrate.js';
import { type Dialect, sqlite } from '../../src/storage/sql/dialect.js';

const folder = 'test/storage/released/';

/** The name of every migration, in the order in which they run on a new database. */
export const migrationNames: readonly string[] = Object.keys(migrationsFor(sqlite));

/** The committed SQL of a migration, or of its sample rows; undefined if none is committed. */
export function releasedSql(file: string): string | undefined {
  return existsSync(`${folder}${file}`) ? readFileSync(`${folder}${file}`, 'utf8') : undefined;
}

/** The SQL of a database after the first `count` migrations, with a row in each table. */
export function releasedDump(dialect: Dialect, count: number): string {
  const names = migrationNames.slice(0, count);
  const last = names.at(-1);
  return [
    ...names.map((name) => releasedSql(`${name}.${dialect.name}.sql`)),
    'create table kysely_migration (name varchar(255) primary key not null, timestamp varchar(255) not null);',
    'create table kysely_migration_lock (id varchar(255) primary key not null, is_locked integer default 0 not null);',
    "insert into kysely_migration_lock values ('migration_lock', 0);",
    ...names.map((name) => `insert into kysely_migration values ('${name}', '2026-01-01T00:00:00.000Z');`),
    releasedSql(`${last}.rows.sql`),
  ].join('\n');
}

/** Returns the SQL that a migration runs in this version. */
export async function sqlOf(dialect: Dialect, name: string): Promise<string> {
  const statements: string[] = [];
  const recording = dialect.builder.withPlugin({
    transformQuery({ node, queryId }) {
      statements.push(`${dialect.builder.getExecutor().compileQuery(node, queryId).sql};\n`);
      return node;
    },
    transformResult: async ({ result }) => result,
  });
  await migrationsFor(dialect)[name]?.up(recording);
  return statements.join('');
}
