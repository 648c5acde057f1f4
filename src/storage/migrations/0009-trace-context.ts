import type { Kysely, Migration } from 'kysely';

/** The trace that a transaction and its events are part of, so that it goes on after a restart. */
export function traceContext(): Migration {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      await db.schema.alterTable('transactions').addColumn('trace_parent', 'text').execute();
      await db.schema.alterTable('events').addColumn('trace_parent', 'text').execute();
    },
  };
}
