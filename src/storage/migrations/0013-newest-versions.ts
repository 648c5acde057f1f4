import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';
import type { Dialect } from '../sql/dialect.js';

/**
 * Gives what each commit counts a version that is the end of its key. Beside an open snapshot, an update then finds the newest version at
 * the end of the index, and does not walk over the versions of earlier commits.
 */
export function newestVersions({ name }: Pick<Dialect, 'name'>): Migration {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      await db.schema
        .createTable('lane_nonces')
        .addColumn('chain', 'text', (column) => column.notNull())
        .addColumn('account', 'text', (column) => column.notNull())
        .addColumn('version', 'bigint', (column) => column.notNull())
        .addColumn('next_nonce', 'text', (column) => column.notNull())
        .addPrimaryKeyConstraint('lane_nonces_key', ['chain', 'account', 'version'])
        .execute();
      await sql`insert into lane_nonces select chain, account, 0, next_nonce from lanes`.execute(db);
      await db.schema.dropTable('lanes').execute();

      await db.schema
        .createTable('finished_totals')
        .addColumn('relayer_id', 'text', (column) => column.notNull())
        .addColumn('status', 'text', (column) => column.notNull())
        .addColumn('version', 'bigint', (column) => column.notNull())
        .addColumn('total', 'bigint', (column) => column.notNull())
        .addPrimaryKeyConstraint('finished_totals_key', ['relayer_id', 'status', 'version'])
        .execute();
      await sql`insert into finished_totals select relayer_id, status, 0, total from transaction_totals`.execute(db);
      await db.schema.dropTable('transaction_totals').execute();

      await db.schema
        .createTable('removed_positions')
        .addColumn('relayer_id', 'text', (column) => column.notNull())
        .addColumn('position', 'bigint', (column) => column.notNull())
        .addPrimaryKeyConstraint('removed_positions_key', ['relayer_id', 'position'])
        .execute();
      await sql`insert into removed_positions select relayer_id, removed_through from change_positions where removed_through > 0`.execute(
        db,
      );
      await db.schema.alterTable('change_positions').dropColumn('removed_through').execute();

      // Earlier versions count in the tables of before. An instance without its row commits nothing, and ends when it meets this migration.
      await sql`delete from instances where number > 1`.execute(db);
      if (name !== 'postgres') return;
      for (const table of ['lane_nonces', 'finished_totals', 'removed_positions'])
        await sql`alter table ${sql.table(table)} set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)`.execute(db);
    },
  };
}
