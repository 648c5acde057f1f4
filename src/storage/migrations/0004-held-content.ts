import { type Kysely, type Migration, sql } from 'kysely';

/**
 * Content that waits until what was sent is dead, and what else the chain tells of a mined version. A hash of those that stand alone is one transaction's:
 * two that say the very same would be one on chain.
 */
export function heldContent(): Migration {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      await db.schema.alterTable('transactions').addColumn('queued', 'text').execute();
      await db.schema.alterTable('transactions').addColumn('mined_facts', 'text').execute();
      await db.schema
        .createIndex('attempts_alone_by_hash')
        .on('attempts')
        .columns(['chain', 'hash'])
        .unique()
        .where(sql.ref('nonce'), '=', sql.ref('transaction_id'))
        .execute();
    },
  };
}
