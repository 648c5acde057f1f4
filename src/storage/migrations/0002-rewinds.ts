import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** What shows that a database went back in time: who was removed, on which timeline of the server, and where the tables come from. */
export const rewinds: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const column of ['timeline', 'is_synchronous']) await db.schema.alterTable('instances').addColumn(column, 'integer').execute();
    await db.schema
      .createTable('removed_instances')
      .addColumn('number', 'integer', (column) => column.primaryKey().notNull())
      .addColumn('removed_at_ms', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema.alterTable('database_ids').addColumn('origin', 'text').execute();
    await db.schema.alterTable('database_ids').addColumn('rewound_at_ms', 'bigint').execute();
    await db.schema.alterTable('database_ids').addColumn('rewind_evidence', 'text').execute();
  },
};
