import { type Kysely, type SqlBool, sql } from 'kysely';
import type { Migration } from 'kysely/migration';
import type { Dialect } from '../sql/dialect.js';

const hasReceiver = sql<SqlBool>`receiver is not null`;

/**
 * The receivers by which callers find transactions: the first one beside its transaction, which costs an insert least, and all others in a
 * table. That table gets the receivers of the EVM transactions that are stored already, since rewriting their rows would take far longer.
 */
export function receivers({ name }: Pick<Dialect, 'name'>): Migration {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      await db.schema.alterTable('transactions').addColumn('receiver', 'text').execute();
      await db.schema
        .createIndex('transactions_by_receiver')
        .on('transactions')
        .columns(['relayer_id', 'receiver', 'seq'])
        .where(hasReceiver)
        .execute();
      await db.schema
        .createTable('transaction_receivers')
        .addColumn('relayer_id', 'text', (column) => column.notNull())
        .addColumn('receiver', 'text', (column) => column.notNull())
        .addColumn('transaction_seq', 'bigint', (column) => column.notNull())
        .addPrimaryKeyConstraint('transaction_receivers_key', ['relayer_id', 'receiver', 'transaction_seq'])
        .execute();
      const text = name === 'sqlite' ? sql`json_extract(content, '$.to')` : sql`content::json ->> 'to'`;
      await sql`insert into transaction_receivers select relayer_id, lower(${text}), seq from transactions where chain like 'evm:%' and ${text} is not null`.execute(
        db,
      );
      await db.schema.createIndex('transaction_receivers_of').on('transaction_receivers').columns(['transaction_seq']).execute();
    },
  };
}
