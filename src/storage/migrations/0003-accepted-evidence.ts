import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Which evidence of lost commits an operator has accepted. */
export const acceptedEvidence: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('database_ids').addColumn('accepted_evidence', 'text').execute();
  },
};
