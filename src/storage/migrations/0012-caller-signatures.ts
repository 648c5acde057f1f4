import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The transactions that were signed for callers, who broadcast them. */
export const callerSignatures: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('caller_signatures')
      .addColumn('hash', 'text', (column) => column.notNull())
      .addColumn('transaction_id', 'text')
      .addPrimaryKeyConstraint('caller_signatures_key', ['hash'])
      .execute();
  },
};
