import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The revision of the files of each instance decides which are in force, so that no list of earlier files has to. */
export const configRevision: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('instances').addColumn('config_revision', 'bigint').execute();
    await db.schema.dropTable('configurations').execute();
  },
};
