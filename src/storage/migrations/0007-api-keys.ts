import type { Kysely, Migration } from 'kysely';
import type { Dialect } from '../dialect.js';

/** The keys that callers present, beside that of the environment. */
export function apiKeys(dialect: Dialect): Migration {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
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
    },
  };
}
