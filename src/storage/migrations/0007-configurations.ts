import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The configuration files with which instances have worked, in their order: a newer one takes the place of an older one. */
export const configurations: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('configurations')
      .addColumn('hashes', 'text', (column) => column.primaryKey().notNull())
      .addColumn('number', 'integer', (column) => column.notNull())
      .execute();
  },
};
