import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** What callers find transactions by: ids and labels of their own, and the hash of any attempt. */
export const find: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema.alterTable('transactions').addColumn('tags', 'text').execute();
    await db.schema
      .createTable('external_ids')
      .addColumn('relayer_id', 'text', (column) => column.notNull())
      .addColumn('external_id', 'text', (column) => column.notNull())
      .addColumn('transaction_id', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('external_ids_key', ['relayer_id', 'external_id'])
      .execute();
    await db.schema
      .createTable('transaction_labels')
      .addColumn('relayer_id', 'text', (column) => column.notNull())
      .addColumn('label', 'text', (column) => column.notNull())
      .addColumn('transaction_seq', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('transaction_labels_key', ['relayer_id', 'label', 'transaction_seq'])
      .execute();
    await db.schema.createIndex('transaction_labels_of').on('transaction_labels').columns(['transaction_seq']).execute();
    await db.schema.createIndex('attempts_by_hash').on('attempts').columns(['hash']).execute();
  },
};
