import { type Kysely, sql } from 'kysely';
import { type DeliveryAttemptRow, deliveryAttemptColumns } from '../rows/delivery-attempt-row.js';
import type { Schema } from '../schema.js';
import { perCount, pick, statement } from '../statement.js';

/** So many tries of an event are kept, the latest ones: more than the retry schedule has. */
const keptPerEvent = 20;

interface EventIds {
  /** `event_0`, `event_1`, ... */
  readonly [event: `event_${number}`]: string;
}

/** Statements on tries to deliver. */
export function deliveryAttemptStatements(db: Kysely<Schema>) {
  return {
    insert: statement<DeliveryAttemptRow, never>('delivery_attempts_insert', (values) =>
      db.insertInto('delivery_attempts').values(pick(values, deliveryAttemptColumns)),
    ),

    deleteOldest: statement<{ event_id: string }, never>('delivery_attempts_delete_oldest', (values) =>
      db
        .deleteFrom('delivery_attempts')
        .where('event_id', '=', values.event_id)
        .where('seq', '<=', (eb) =>
          eb
            .selectFrom('delivery_attempts as kept')
            .select('kept.seq')
            .where('kept.event_id', '=', values.event_id)
            .orderBy('kept.seq', 'desc')
            .limit(sql.lit(1))
            .offset(sql.lit(keptPerEvent)),
        ),
    ),

    /** Of `count` events, each one's oldest first. */
    ofEvents: perCount((count) =>
      statement<EventIds, DeliveryAttemptRow>(`delivery_attempts_of_${count}`, (values) =>
        db
          .selectFrom('delivery_attempts')
          .select(deliveryAttemptColumns)
          .where(
            'event_id',
            'in',
            Array.from({ length: count }, (_, index) => values[`event_${index}`] as string),
          )
          .orderBy('seq'),
      ),
    ),
  };
}
