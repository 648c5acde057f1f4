import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The former secrets of an API key, and the key that counts as its creator after that one was revoked. */
export const keyRotation: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('api_keys').addColumn('former_secrets', 'text').execute();
    await db.schema.alterTable('api_keys').addColumn('adopted_by', 'text').execute();
  },
};
