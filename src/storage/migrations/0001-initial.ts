import { type Kysely, type SqlBool, sql } from 'kysely';
import type { Migration } from 'kysely/migration';
import type { Dialect } from '../sql/dialect.js';

// The conditions of the partial indexes. A migration never changes, so it shares no constants with the code, which does.
const openTransaction = sql<SqlBool>`ended_at_ms is null`;
const unsequencedAttempt = sql<SqlBool>`nonce = transaction_id`;
const pendingEvent = sql<SqlBool>`status = 'pending'`;
const nextEvent = sql<SqlBool>`status = 'pending' and waits_behind = 0`;
const finishedEvent = sql<SqlBool>`status <> 'pending'`;

/** All tables of release 0.1.0. `../sql/schema.ts` says what they hold. */
export function initial(dialect: Dialect): Migration {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      await createTransactions(db, dialect);
      await createAttempts(db, dialect);
      await createLanesAndInstances(db);
      await createNotifications(db, dialect);
      await createEvents(db, dialect);
      await createAccess(db, dialect);
      await createConfiguration(db, dialect);
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
    .addColumn('failure_reason', 'text')
    .addColumn('intent', 'text', (column) => column.notNull())
    .addColumn('content', 'text', (column) => column.notNull())
    .addColumn('queued', 'text')
    .addColumn('nonce', 'text')
    .addColumn('live_version', 'integer')
    .addColumn('mined_version', 'integer')
    .addColumn('mined_block_number', 'text')
    .addColumn('mined_block_hash', 'text')
    .addColumn('mined_succeeded', 'integer')
    .addColumn('mined_facts', 'text')
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('updated_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('sent_at_ms', 'bigint')
    .addColumn('confirmed_at_ms', 'bigint')
    .addColumn('valid_until_ms', 'bigint')
    .addColumn('ended_at_ms', 'bigint')
    .addColumn('trace_parent', 'text')
    .addColumn('revision', 'bigint', (column) => column.notNull())
    .addColumn('position', 'bigint', (column) => column.notNull())
    .execute();
  const index = (name: string) => db.schema.createIndex(name).on('transactions');
  // A relayer's whole list by page number; its list by status; its latest changes; the open transactions of a lane.
  await index('transactions_by_ordinal').unique().columns(['relayer_id', 'ordinal']).execute();
  await index('transactions_by_status').columns(['relayer_id', 'status', 'seq']).execute();
  await index('transactions_by_position').columns(['relayer_id', 'position']).execute();
  await index('transactions_open').columns(['chain', 'account', 'seq']).where(openTransaction).execute();

  await db.schema
    .createTable('change_positions')
    .addColumn('relayer_id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('position', 'bigint', (column) => column.notNull())
    .addColumn('removed_through', 'bigint', (column) => column.notNull())
    .addColumn('is_closed', 'integer', (column) => column.notNull())
    .execute();
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
  // Two unsequenced attempts with the same bytes have the same hash, and are one transaction on the chain.
  await db.schema
    .createIndex('attempts_unsequenced_by_hash')
    .on('attempts')
    .columns(['chain', 'hash'])
    .unique()
    .where(unsequencedAttempt)
    .execute();
}

async function createLanesAndInstances(db: Kysely<unknown>): Promise<void> {
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
    .addColumn('token', 'text', (column) => column.notNull())
    .addColumn('since_ms', 'bigint', (column) => column.notNull())
    .addColumn('checked_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('confirmed_time_ms', 'bigint')
    .addColumn('batch', 'text')
    .addColumn('version', 'text')
    .addColumn('config_hashes', 'text')
    .addColumn('backend_pid', 'integer')
    .addColumn('backend_started', 'text')
    .addColumn('state', 'text')
    .execute();
  await db.schema
    .createTable('leases')
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('holder', 'integer')
    .addColumn('note', 'text')
    .addPrimaryKeyConstraint('leases_key', ['kind', 'key'])
    .execute();
  await db.schema
    .createTable('database_ids')
    .addColumn('number', 'integer', (column) => column.primaryKey().notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('definitions_version', 'bigint', (column) => column.notNull())
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
    .addColumn('retired_keys', 'text', (column) => column.notNull())
    .addColumn('gone_at_ms', 'bigint')
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('revision', 'bigint', (column) => column.notNull())
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
    .addColumn('trace_parent', 'text')
    .addColumn('waits_behind', 'integer', (column) => column.notNull())
    .execute();
  const index = (name: string) => db.schema.createIndex(name).on('events');
  // The queue of an order key; the events to deliver next, by notification; a notification's list; finished events by age and by
  // transaction.
  await index('events_pending').columns(['notification_id', 'order_key', 'seq']).where(pendingEvent).execute();
  await index('events_next').columns(['notification_id', 'next_attempt_at_ms']).where(nextEvent).execute();
  await index('events_of_notification').columns(['notification_id', 'seq']).execute();
  await index('events_finished').columns(['next_attempt_at_ms']).where(finishedEvent).execute();
  await index('events_finished_by_order').columns(['order_key']).where(finishedEvent).execute();

  await db.schema
    .createTable('delivery_attempts')
    .addColumn('seq', dialect.sequenceType, (column) => dialect.sequence(column))
    .addColumn('event_id', 'text', (column) => column.notNull().references('events.id').onDelete('cascade'))
    .addColumn('attempted_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('duration_ms', 'bigint', (column) => column.notNull())
    .addColumn('http_status', 'integer')
    .addColumn('error', 'text')
    .addColumn('response_body', 'text')
    .execute();
  await db.schema.createIndex('delivery_attempts_of_event').on('delivery_attempts').columns(['event_id', 'seq']).execute();
}

async function createAccess(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await db.schema
    .createTable('stored_responses')
    .addColumn('seq', dialect.sequenceType, (column) => dialect.sequence(column))
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('method', 'text', (column) => column.notNull())
    .addColumn('idempotency_key', 'text', (column) => column.notNull())
    .addColumn('fingerprint', 'text', (column) => column.notNull())
    .addColumn('response', 'text', (column) => column.notNull())
    .addColumn('expires_at_ms', 'bigint', (column) => column.notNull())
    .addUniqueConstraint('stored_responses_key', ['key_id', 'method', 'idempotency_key'])
    .execute();
  await db.schema.createIndex('stored_responses_by_expiry').on('stored_responses').columns(['expires_at_ms']).execute();
  await db.schema
    .createTable('database_secret')
    .addColumn('number', 'integer', (column) => column.primaryKey().notNull())
    .addColumn('sealed', 'text', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('api_keys')
    .addColumn('seq', dialect.sequenceType, (column) => dialect.sequence(column))
    .addColumn('id', 'text', (column) => column.notNull().unique())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('scopes', 'text', (column) => column.notNull())
    .addColumn('relayer_ids', 'text', (column) => column.notNull())
    .addColumn('digest', 'text', (column) => column.notNull())
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('expires_at_ms', 'bigint')
    .execute();
}

async function createConfiguration(db: Kysely<unknown>, dialect: Dialect): Promise<void> {
  await db.schema
    .createTable('definitions')
    .addColumn('seq', dialect.sequenceType, (column) => dialect.sequence(column))
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('content', 'text')
    .addColumn('sealed', 'text')
    .addUniqueConstraint('definitions_key', ['kind', 'id'])
    .execute();
  await db.schema
    .createTable('file_entries')
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('revision', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('file_entries_key', ['kind', 'id'])
    .execute();
}
