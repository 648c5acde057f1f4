import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The obstacles of a transaction that were reported as delays. */
export const delays: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('transactions').addColumn('delays', 'text').execute();
  },
};
