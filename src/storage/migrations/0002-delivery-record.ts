import { type Kysely, type Migration, type SqlBool, sql } from 'kysely';
import type { Dialect } from '../dialect.js';

const pending = sql<SqlBool>`status = 'pending'`;
const next = sql<SqlBool>`status = 'pending' and waits_behind = 0`;
const finished = sql<SqlBool>`status <> 'pending'`;

/** What is remembered of deliveries: each try, retired signing keys, receivers that are gone. Work is found by notification from here on. */
export function deliveryRecord(dialect: Dialect): Migration {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      await db.schema
        .alterTable('notifications')
        .addColumn('retired_keys', 'text', (column) => column.notNull().defaultTo('[]'))
        .execute();
      await db.schema.alterTable('notifications').addColumn('gone_at_ms', 'bigint').execute();

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

      await db.schema.dropIndex('events_undelivered').execute();
      await db.schema.dropIndex('events_due').execute();
      const index = (name: string) => db.schema.createIndex(name).on('events');
      // The queue of an order key; whose turn it is, by notification; a notification's list; what is old.
      await index('events_pending').columns(['notification_id', 'order_key', 'seq']).where(pending).execute();
      await index('events_next').columns(['notification_id', 'next_attempt_at_ms']).where(next).execute();
      await index('events_of_notification').columns(['notification_id', 'seq']).execute();
      await index('events_finished').columns(['next_attempt_at_ms']).where(finished).execute();
    },
  };
}
