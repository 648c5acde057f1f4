import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';
import type { Dialect } from '../sql/dialect.js';

/** Rows that change often, and are few: PostgreSQL is to clean them early, and has room for their next versions on the same page. */
const hotTables = ['change_positions', 'transaction_totals', 'instances', 'leases', 'lanes'];

/** Records each batch by an insert: an update of one row would walk all its versions beside an open snapshot. */
export function costsThatDoNotGrow({ name }: Pick<Dialect, 'name'>): Migration {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      await db.schema
        .createTable('batches')
        .addColumn('number', 'integer', (column) => column.notNull())
        .addColumn('batch', 'bigint', (column) => column.notNull())
        .addPrimaryKeyConstraint('batches_key', ['number', 'batch'])
        .execute();
      if (name !== 'postgres') return;
      for (const table of hotTables)
        await sql`alter table ${sql.table(table)} set (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)`.execute(
          db,
        );
      await sql`alter table transactions set (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05)`.execute(db);
    },
  };
}
