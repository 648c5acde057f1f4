import { type Kysely, sql } from 'kysely';
import type { OutboxEvent } from '../../core/notification/notification.js';
import { type EventRow, eventColumns } from '../rows/event-row.js';
import type { Flag, Schema } from '../schema.js';
import { perCount, pick, statement } from '../statement.js';

type EventUpdateRow = Pick<EventRow, 'id' | 'attempts' | 'next_attempt_at_ms'> & { readonly status: OutboxEvent['status'] };

interface DueQuery {
  readonly now_ms: number;
  readonly limit: number;
  /** Ids of notifications to pass over: `passed_0`, `passed_1`, ... */
  readonly [passed: `passed_${number}`]: string;
}

/** Statements on the outbox. Constants that an index's condition needs are written out, see `open-condition.ts`. */
export function eventStatements(db: Kysely<Schema>) {
  const isPending = sql<boolean>`status <> 'delivered' and status = 'pending'`;

  /** Events whose turn it is, due or not: pending, with no older pending one of the same order key. */
  const heads = () =>
    db
      .selectFrom('events')
      .where(sql<boolean>`events.status = 'pending' and events.waits_behind = 0`)
      .where((eb) =>
        eb.not(
          eb.exists(
            eb
              .selectFrom('events as older')
              .select(sql.lit(1).as('one'))
              .where(sql<boolean>`older.status <> 'delivered' and older.status = 'pending'`)
              .whereRef('older.notification_id', '=', 'events.notification_id')
              .whereRef('older.order_key', '=', 'events.order_key')
              .whereRef('older.seq', '<', 'events.seq'),
          ),
        ),
      );

  return {
    insert: statement<EventRow, never>('events_insert', (values) =>
      db.insertInto('events').values((eb) => ({
        ...pick(values, eventColumns),
        waits_behind: eb
          .case()
          .when(
            eb.exists(
              eb
                .selectFrom('events')
                .select(sql.lit(1).as('one'))
                .where('notification_id', '=', values.notification_id)
                .where('order_key', '=', values.order_key)
                .where(isPending),
            ),
          )
          .then(sql.lit<Flag>(1))
          .else(sql.lit<Flag>(0))
          .end(),
      })),
    ),

    update: statement<EventUpdateRow, never>('events_update', (values) =>
      db
        .updateTable('events')
        .set(pick(values, ['status', 'attempts', 'next_attempt_at_ms']))
        .where('id', '=', values.id),
    ),

    /** Lets the oldest pending event of this event's order key go; after this one was updated. */
    releaseNext: statement<{ id: string }, never>('events_release_next', (values) =>
      db
        .updateTable('events')
        .set({ waits_behind: 0 })
        .where('waits_behind', '=', sql.lit<Flag>(1))
        .where('seq', '=', (eb) =>
          eb
            .selectFrom('events as next')
            .innerJoin('events as done', (join) =>
              join.onRef('done.notification_id', '=', 'next.notification_id').onRef('done.order_key', '=', 'next.order_key'),
            )
            .select((inner) => inner.fn.min('next.seq').as('seq'))
            .where('done.id', '=', values.id)
            .where(sql<boolean>`next.status <> 'delivered' and next.status = 'pending'`),
        ),
    ),

    deleteUndelivered: statement<{ notification_id: string }, never>('events_delete_undelivered', (values) =>
      db.deleteFrom('events').where('notification_id', '=', values.notification_id).where(sql<boolean>`status <> 'delivered'`),
    ),

    /** Due ones, without those of `passedCount` notifications. */
    due: perCount((passedCount) =>
      statement<DueQuery, EventRow>(`events_due_passing_${passedCount}`, (values) => {
        const due = heads().select(eventColumns).where('next_attempt_at_ms', '<=', values.now_ms);
        const passed = Array.from({ length: passedCount }, (_, index) => values[`passed_${index}`] as string);
        return (
          (passedCount === 0 ? due : due.where('notification_id', 'not in', passed))
            // The sign keeps a database from walking the whole table by `seq` to spare itself the sorting of the few that are due.
            .orderBy(sql`+events.seq`)
            .limit(values.limit)
        );
      }),
    ),

    next: statement<object, { next_attempt_at_ms: number }>('events_next', () =>
      heads().select('next_attempt_at_ms').orderBy('next_attempt_at_ms').limit(sql.lit(1)),
    ),
  };
}
