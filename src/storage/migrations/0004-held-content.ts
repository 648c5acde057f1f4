import type { Kysely, Migration } from 'kysely';

/** Content that waits until what was sent is dead, and what else the chain tells of a mined version. */
export function heldContent(): Migration {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      await db.schema.alterTable('transactions').addColumn('held', 'text').execute();
      await db.schema.alterTable('transactions').addColumn('mined_facts', 'text').execute();
    },
  };
}
