import type { Kysely, Migration } from 'kysely';
import type { Dialect } from '../dialect.js';

/** What calls with an idempotency key came to. */
export function outcomes(dialect: Dialect): Migration {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      await db.schema
        .createTable('outcomes')
        .addColumn('seq', dialect.sequenceType, (column) => dialect.sequence(column))
        .addColumn('key_id', 'text', (column) => column.notNull())
        .addColumn('method', 'text', (column) => column.notNull())
        .addColumn('idempotency_key', 'text', (column) => column.notNull())
        .addColumn('fingerprint', 'text', (column) => column.notNull())
        .addColumn('response', 'text', (column) => column.notNull())
        .addColumn('expires_at_ms', 'bigint', (column) => column.notNull())
        .addUniqueConstraint('outcomes_key', ['key_id', 'method', 'idempotency_key'])
        .execute();
      await db.schema.createIndex('outcomes_by_expiry').on('outcomes').columns(['expires_at_ms']).execute();
    },
  };
}
