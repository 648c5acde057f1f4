import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Whose relayers a notification is for, and which key created an API key. */
export const owners: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('notifications').addColumn('relayer_ids', 'text').execute();
    await db.schema.alterTable('api_keys').addColumn('created_by', 'text').execute();
  },
};
