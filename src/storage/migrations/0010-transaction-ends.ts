import { type Kysely, type Migration, type SqlBool, sql } from 'kysely';

const isFinal = sql<SqlBool>`status not in ('pending', 'sent', 'submitted', 'mined')`;
const finished = sql<SqlBool>`status <> 'pending'`;

/** When transactions ended, and deliveries by what they tell of: both are removed some time after. */
export function transactionEnds(): Migration {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      await db.schema.alterTable('transactions').addColumn('ended_at_ms', 'bigint').execute();
      // Nobody knows any more when those that are final ended; counted from now, none is removed too early.
      await sql`update transactions set ended_at_ms = ${Date.now()} where ${isFinal}`.execute(db);
      await db.schema.createIndex('events_finished_by_order').on('events').columns(['order_key']).where(finished).execute();
    },
  };
}
