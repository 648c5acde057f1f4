import { type Kysely, type Migration, type SqlBool, sql } from 'kysely';
import type { Dialect } from '../dialect.js';

// What a migration says is for ever: it shares no names with the code, which moves on.
const open = sql<SqlBool>`status in ('pending', 'sent', 'submitted', 'mined')`;
const undelivered = sql<SqlBool>`status <> 'delivered'`;
const next = sql<SqlBool>`status = 'pending' and waits_behind = 0`;

/** The first tables. */
export function initial(dialect: Dialect): Migration {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      await createTransactions(db, dialect);
      await createAttempts(db, dialect);
      await createLanes(db);
      await createNotifications(db, dialect);
      await createEvents(db, dialect);
    },
  };
}

async function createTransactions(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await db.schema
    .createTable('transactions')
    .addColumn('seq', dialect.sequenceType, (column) => dialect.sequence(column))
    .addColumn('ordinal', 'bigint', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull().unique())
    .addColumn('relayer_id', 'text', (column) => column.notNull())
    .addColumn('chain', 'text', (column) => column.notNull())
    .addColumn('account', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('status_reason', 'text')
    .addColumn('intent', 'text', (column) => column.notNull())
    .addColumn('content', 'text', (column) => column.notNull())
    .addColumn('nonce', 'text')
    .addColumn('live_version', 'integer')
    .addColumn('mined_version', 'integer')
    .addColumn('mined_block_number', 'text')
    .addColumn('mined_block_hash', 'text')
    .addColumn('mined_succeeded', 'integer')
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('sent_at_ms', 'bigint')
    .addColumn('confirmed_at_ms', 'bigint')
    .addColumn('valid_until_ms', 'bigint')
    .addColumn('revision', 'bigint', (column) => column.notNull())
    .execute();
  const index = (name: string) => db.schema.createIndex(name).on('transactions');
  // A relayer's whole list by page number; its list by status; a lane's work.
  await index('transactions_by_ordinal').unique().columns(['relayer_id', 'ordinal']).execute();
  await index('transactions_by_status').columns(['relayer_id', 'status', 'seq']).execute();
  await index('transactions_open').columns(['chain', 'account', 'seq']).where(open).execute();

  await db.schema
    .createTable('transaction_totals')
    .addColumn('relayer_id', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('total', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('transaction_totals_key', ['relayer_id', 'status'])
    .execute();
}

async function createAttempts(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await db.schema
    .createTable('attempts')
    .addColumn('seq', dialect.sequenceType, (column) => dialect.sequence(column))
    .addColumn('transaction_id', 'text', (column) => column.notNull().references('transactions.id'))
    .addColumn('version', 'integer', (column) => column.notNull())
    .addColumn('chain', 'text', (column) => column.notNull())
    .addColumn('account', 'text', (column) => column.notNull())
    .addColumn('nonce', 'text', (column) => column.notNull())
    .addColumn('purpose', 'text', (column) => column.notNull())
    .addColumn('hash', 'text', (column) => column.notNull())
    .addColumn('raw', 'text', (column) => column.notNull())
    .addColumn('fields', 'text', (column) => column.notNull())
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .addUniqueConstraint('attempts_of_transaction', ['transaction_id', 'version'])
    .addUniqueConstraint('attempts_of_slot', ['chain', 'account', 'nonce', 'version'])
    .execute();
}

async function createLanes(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('lanes')
    .addColumn('chain', 'text', (column) => column.notNull())
    .addColumn('account', 'text', (column) => column.notNull())
    .addColumn('next_nonce', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('lanes_key', ['chain', 'account'])
    .execute();
  await db.schema
    .createTable('chains')
    .addColumn('chain', 'text', (column) => column.primaryKey().notNull())
    .addColumn('genesis_hash', 'text', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('instances')
    .addColumn('number', 'integer', (column) => column.primaryKey().notNull())
    .addColumn('host', 'text', (column) => column.notNull())
    .addColumn('pid', 'integer', (column) => column.notNull())
    .addColumn('since_ms', 'bigint', (column) => column.notNull())
    .addColumn('checked_at_ms', 'bigint', (column) => column.notNull())
    .execute();
}

async function createNotifications(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await db.schema
    .createTable('notifications')
    .addColumn('seq', dialect.sequenceType, (column) => dialect.sequence(column))
    .addColumn('id', 'text', (column) => column.notNull().unique())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('url', 'text', (column) => column.notNull())
    .addColumn('sealed_signing_key', 'text')
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('revision', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('file_entries')
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('revision', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('file_entries_key', ['kind', 'id'])
    .execute();
}

async function createEvents(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await db.schema
    .createTable('events')
    .addColumn('seq', dialect.sequenceType, (column) => dialect.sequence(column))
    .addColumn('id', 'text', (column) => column.notNull().unique())
    // No foreign key: delivered events outlive their notification.
    .addColumn('notification_id', 'text', (column) => column.notNull())
    .addColumn('event', 'text', (column) => column.notNull())
    .addColumn('order_key', 'text', (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('next_attempt_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('waits_behind', 'integer', (column) => column.notNull())
    .execute();
  const index = (name: string) => db.schema.createIndex(name).on('events');
  await index('events_undelivered').columns(['notification_id', 'order_key', 'seq']).where(undelivered).execute();
  await index('events_due').columns(['next_attempt_at_ms']).where(next).execute();
}
