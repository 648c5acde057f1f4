import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** What counts against the limits of relayers. */
export const spendWindows: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('spend_windows')
      .addColumn('relayer_id', 'text', (column) => column.notNull())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('version', 'text', (column) => column.notNull())
      .addColumn('amounts', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('spend_windows_key', ['relayer_id', 'name'])
      .execute();
    await db.schema
      .createTable('spend_reservations')
      .addColumn('transaction_id', 'text', (column) => column.notNull())
      .addColumn('reserved', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('spend_reservations_key', ['transaction_id'])
      .execute();
  },
};
