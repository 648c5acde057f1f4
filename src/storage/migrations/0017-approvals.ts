import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The approval that a transaction needs, and what was decided about it. */
export const approvals: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('transactions').addColumn('approval', 'text').execute();
  },
};
