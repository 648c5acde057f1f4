import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** From where an API key may be used, and when it was last. */
export const keyUse: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('api_keys').addColumn('allowed_addresses', 'text').execute();
    await db.schema.alterTable('api_keys').addColumn('last_used_at_ms', 'bigint').execute();
  },
};
