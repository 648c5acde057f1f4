import { type Kysely, type RawBuilder, type Selectable, sql } from 'kysely';
import type { OutboxChanges, OutboxReads } from '../../core/ports/store/outbox.js';
import type { DeliveryAttempt, DeliveryRecord, OutboxEvent } from '../../core/records/notification.js';
import { BoundChange, guarded, step } from '../sql/bound-change.js';
import { placeOf, type Walk, type Walked } from '../sql/paging.js';
import { recordMapping } from '../sql/record-mapping.js';
import type { DeliveryAttemptTable, EventTable, Flag, Schema } from '../sql/schema.js';
import { numbered, paddedToPowerOfTwo, perCount, pick, type Query, type Statement, statement } from '../sql/statement.js';

/** An event's columns, without the columns that the store fills. */
type EventRow = Omit<Selectable<EventTable>, 'seq' | 'waits_behind'>;
type DeliveryAttemptRow = Omit<Selectable<DeliveryAttemptTable>, 'seq'>;

/** How events are stored. */
const eventMapping = recordMapping<OutboxEvent, EventRow>({
  id: 'id',
  notificationId: 'notification_id',
  event: 'event',
  orderKey: 'order_key',
  body: 'body',
  status: 'status',
  attempts: 'attempts',
  nextAttemptAtMs: 'next_attempt_at_ms',
  createdAtMs: 'created_at_ms',
  traceParent: 'trace_parent',
});

/** How delivery attempts are stored, beside the id of their event. */
const deliveryAttemptMapping = recordMapping<DeliveryAttempt, Omit<DeliveryAttemptRow, 'event_id'>>({
  attemptedAtMs: 'attempted_at_ms',
  durationMs: 'duration_ms',
  httpStatus: 'http_status',
  error: 'error',
  responseBody: 'response_body',
});
const deliveryAttemptColumns = ['event_id', ...deliveryAttemptMapping.columns] as const;

/** How many deliveries are counted from the start of a page. A notification may have millions of them. */
const countedDeliveries = 10_000;

/** The number of delivery attempts kept per event: more than the retry schedule has. */
const keptPerEvent = 20;

type EventUpdateRow = Pick<EventRow, 'id' | 'attempts' | 'next_attempt_at_ms'> & { readonly status: OutboxEvent['status'] };
type RedeliverRow = Pick<EventRow, 'id' | 'notification_id' | 'next_attempt_at_ms'>;

interface PendingTargetRow {
  readonly notification_id: string;
  /** When its first event is or was due. */
  readonly first_at_ms: number | null;
  /** When its first event in the future is due. */
  readonly next_at_ms: number | null;
}

interface EventIds {
  /** `event_0`, `event_1`, ... */
  readonly [event: `event_${number}`]: string;
}

/** A notification's newest events before a `seq`. */
interface NewestOf {
  readonly notification_id: string;
  readonly before: number;
  readonly limit: number;
}

/** The newest events of a transaction before a `seq`. */
interface NewestOfTransaction extends NewestOf {
  readonly order_key: string;
}

type InsertLock = Statement<Pick<EventRow, 'notification_id' | 'order_key'>, never>;

/**
 * Locks for the insert of an event while other processes write. The first keeps the notification from being deleted: otherwise the new
 * event could wait behind one that is deleted with it. The second locks the event behind which the new one would wait: otherwise another
 * process could end that event, find nothing to release, and leave the new one waiting for ever.
 */
function insertLocks(db: Kysely<Schema>): readonly InsertLock[] {
  return [
    statement('events_lock_notification', (values) => ({
      compile: () => sql<never>`select from notifications where id = ${values.notification_id} for key share`.compile(db),
    })),
    statement('events_lock_latest', (values) => ({
      compile: () =>
        sql<never>`select from events
          where notification_id = ${values.notification_id} and order_key = ${values.order_key} and status = 'pending'
          order by seq desc limit 1 for no key update`.compile(db),
    })),
  ];
}

/**
 * Statements on the outbox. Conditions of partial indexes are written as constants: a database uses such an index only if a statement
 * repeats them. `hasSeveralWriters`: see `Dialect`.
 */
export function eventStatements(db: Kysely<Schema>, hasSeveralWriters: boolean) {
  const { columns } = eventMapping;
  const isPending = sql<boolean>`status = 'pending'`;

  function newestOf(values: NewestOf) {
    return db
      .selectFrom('events')
      .select('seq')
      .where('notification_id', '=', values.notification_id)
      .where('seq', '<', values.before)
      .orderBy('seq', 'desc')
      .limit(values.limit);
  }

  /** The same of one transaction: of its pending events and of its finished ones, each from the index that has them. */
  function newestOfTransaction(values: NewestOfTransaction) {
    const those = (condition: RawBuilder<boolean>) =>
      db
        .selectFrom('events')
        .select('seq')
        .where('notification_id', '=', values.notification_id)
        .where('order_key', '=', values.order_key)
        .where(
          'event',
          'in',
          (['transaction_update', 'transaction_delayed', 'approval_required'] as const).map((event) => sql.lit(event)),
        )
        .where('seq', '<', values.before)
        .where(condition);
    return db
      .selectFrom(those(isPending).unionAll(those(sql<boolean>`status <> 'pending'`)).as('both'))
      .select('seq')
      .orderBy('seq', 'desc')
      .limit(values.limit);
  }

  return {
    /** Run in this order before an insert; empty if there is one writer. */
    insertLocks: hasSeveralWriters ? insertLocks(db) : [],

    insert: statement<EventRow, never>('events_insert', (values) =>
      db.insertInto('events').values((eb) => ({
        ...pick(values, columns),
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

    /** Updates only an event that still has this number of attempts. */
    updateIf: statement<EventUpdateRow & { attempts_before: number }, never>('events_update_if', (values) =>
      db
        .updateTable('events')
        .set(pick(values, ['status', 'attempts', 'next_attempt_at_ms']))
        .where('id', '=', values.id)
        .where('attempts', '=', values.attempts_before),
    ),

    /** Releases the oldest pending event of this event's order key; runs after this one was updated. */
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
            .where(sql<boolean>`next.status = 'pending'`),
        ),
    ),

    /** Makes an event pending again, behind an older pending event of its order key if there is one. */
    redeliver: statement<RedeliverRow, never>('events_redeliver', (values) =>
      db
        .updateTable('events')
        .set({
          ...pick(values, ['next_attempt_at_ms']),
          status: sql.lit('pending' as const),
          attempts: sql.lit(0),
          waits_behind: sql<Flag>`case when exists (
            select 1 from events as older
            where older.status = 'pending' and older.notification_id = events.notification_id
              and older.order_key = events.order_key and older.seq < events.seq
          ) then 1 else 0 end`,
        })
        .where('id', '=', values.id)
        .where('notification_id', '=', values.notification_id),
    ),

    /** Makes the later pending events of the same order key wait behind this one. */
    holdLater: statement<{ id: string }, never>('events_hold_later', (values) =>
      db
        .updateTable('events')
        .set({ waits_behind: 1 })
        .where('waits_behind', '=', sql.lit<Flag>(0))
        .where(isPending)
        .where(
          sql<boolean>`(notification_id, order_key) = (select before.notification_id, before.order_key from events as before where before.id = ${values.id})`,
        )
        .where('seq', '>', (eb) => eb.selectFrom('events as before').select('before.seq').where('before.id', '=', values.id)),
    ),

    deleteUndelivered: statement<{ notification_id: string }, never>('events_delete_undelivered', (values) =>
      db
        .deleteFrom('events')
        .where('notification_id', '=', values.notification_id)
        .where('status', '<>', sql.lit('delivered' as const)),
    ),

    deleteFinished: statement<{ id: string }, never>('events_delete_finished', (values) =>
      db.deleteFrom('events').where('id', '=', values.id).where(sql<boolean>`status <> 'pending'`),
    ),

    /** Deletes the finished events of one order key, of all notifications. */
    deleteFinishedOf: statement<{ order_key: string }, never>('events_delete_finished_of', (values) =>
      db.deleteFrom('events').where('order_key', '=', values.order_key).where(sql<boolean>`status <> 'pending'`),
    ),

    /** Skips through the index from one notification to the next, so the size of a backlog does not matter. */
    pendingTargets: statement<{ now_ms: number }, PendingTargetRow>('events_pending_targets', (values) => ({
      compile: () =>
        sql<PendingTargetRow>`
          with recursive target(notification_id) as (
            select min(notification_id) from events where status = 'pending' and waits_behind = 0
            union all
            select (
              select min(events.notification_id) from events
              where events.status = 'pending' and events.waits_behind = 0 and events.notification_id > target.notification_id
            ) from target where target.notification_id is not null
          )
          select target.notification_id,
            (select min(next_attempt_at_ms) from events
              where status = 'pending' and waits_behind = 0 and events.notification_id = target.notification_id) as first_at_ms,
            (select min(next_attempt_at_ms) from events
              where status = 'pending' and waits_behind = 0 and events.notification_id = target.notification_id
                and next_attempt_at_ms > ${values.now_ms}) as next_at_ms
          from target where target.notification_id is not null`.compile(db),
    })),

    due: statement<{ notification_id: string; now_ms: number; limit: number }, EventRow>('events_due', (values) =>
      db
        .selectFrom('events')
        .select(columns)
        .where(sql<boolean>`status = 'pending' and waits_behind = 0`)
        .where('notification_id', '=', values.notification_id)
        .where('next_attempt_at_ms', '<=', values.now_ms)
        .orderBy('next_attempt_at_ms')
        .orderBy('seq')
        .limit(values.limit),
    ),

    /** Counts up to `limit`: a backlog may have any length, and every scrape of the metrics counts it. */
    pendingCount: statement<{ limit: number }, { total: number }>('events_pending_count', (values) =>
      db
        .selectFrom(db.selectFrom('events').select('seq').where(isPending).limit(values.limit).as('pending'))
        .select((eb) => eb.fn.countAll<number>().as('total')),
    ),

    byId: statement<{ notification_id: string; id: string }, EventRow>('events_by_id', (values) =>
      db.selectFrom('events').select(columns).where('id', '=', values.id).where('notification_id', '=', values.notification_id),
    ),

    /** Selects the page on the index alone: rows are wide. */
    pageOf: statement<NewestOf, EventRow>('events_page', (values) =>
      db.selectFrom('events').select(columns).where('seq', 'in', newestOf(values)).orderBy('seq', 'desc'),
    ),

    pageOfTransaction: statement<NewestOfTransaction, EventRow>('events_page_of_transaction', (values) =>
      db.selectFrom('events').select(columns).where('seq', 'in', newestOfTransaction(values)).orderBy('seq', 'desc'),
    ),

    /** Where an event is in its list. */
    position: statement<{ id: string }, { seq: number }>('events_position', (values) =>
      db.selectFrom('events').select('seq').where('id', '=', values.id),
    ),

    /** Walks over as many rows in the index. Lists are counted this way, up to a limit: a stored total would cost a write per event. */
    walk: statement<NewestOf, Walked>('events_walk', (values) =>
      db.selectFrom(newestOf(values).as('walked')).select((eb) => [eb.fn.countAll<number>().as('count'), eb.fn.min('seq').as('last')]),
    ),

    walkOfTransaction: statement<NewestOfTransaction, Walked>('events_walk_of_transaction', (values) =>
      db
        .selectFrom(newestOfTransaction(values).as('walked'))
        .select((eb) => [eb.fn.countAll<number>().as('count'), eb.fn.min('seq').as('last')]),
    ),

    finished: statement<{ before_ms: number; limit: number }, { id: string }>('events_finished', (values) =>
      db
        .selectFrom('events')
        .select('id')
        .where(sql<boolean>`status <> 'pending'`)
        .where('next_attempt_at_ms', '<', values.before_ms)
        .orderBy('next_attempt_at_ms')
        .limit(values.limit),
    ),
  };
}

/** Statements on delivery attempts. */
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

    /** The attempts of `count` events, oldest first. */
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

interface Statements {
  readonly events: ReturnType<typeof eventStatements>;
  readonly deliveryAttempts: ReturnType<typeof deliveryAttemptStatements>;
}

/** Queries of events and their deliveries. */
export function eventReads({ events, deliveryAttempts }: Statements, query: Query): OutboxReads {
  async function withAttempts(rows: readonly EventRow[]): Promise<readonly DeliveryRecord[]> {
    if (rows.length === 0) return [];
    const ids = paddedToPowerOfTwo(rows.map(({ id }) => id));
    const deliveries = await query(deliveryAttempts.ofEvents(ids.length), numbered('event', ids));
    return rows.map((row) => ({
      event: eventMapping.fromRow(row),
      attempts: deliveries.filter(({ event_id }) => event_id === row.id).map(deliveryAttemptMapping.fromRow),
    }));
  }

  return {
    pendingTargets: async (nowMs) => {
      const rows = await query(events.pendingTargets, { now_ms: nowMs });
      return rows.map((row) => ({
        notificationId: row.notification_id,
        isDue: row.first_at_ms !== null && row.first_at_ms <= nowMs,
        nextAtMs: row.next_at_ms ?? undefined,
      }));
    },
    dueEvents: async (notificationId, nowMs, limit) =>
      (await query(events.due, { notification_id: notificationId, now_ms: nowMs, limit })).map(eventMapping.fromRow),
    pendingEventCount: async (limit) => (await query(events.pendingCount, { limit }))[0]?.total ?? 0,
    delivery: async (notificationId, eventId) =>
      (await withAttempts(await query(events.byId, { notification_id: notificationId, id: eventId })))[0],
    deliveries: async (notificationId, page, transactionId) => {
      const ofAll = { notification_id: notificationId };
      const ofTransaction = { ...ofAll, order_key: transactionId ?? '' };
      const walk: Walk = (part) =>
        transactionId === undefined
          ? query(events.walk, { ...ofAll, ...part })
          : query(events.walkOfTransaction, { ...ofTransaction, ...part });
      const { length, before } = await placeOf(query, { walk, positionOf: events.position, counted: countedDeliveries }, page);
      const part = { before: before ?? 0, limit: page.limit };
      const pageOf = () =>
        transactionId === undefined
          ? query(events.pageOf, { ...ofAll, ...part })
          : query(events.pageOfTransaction, { ...ofTransaction, ...part });
      const rows = before === null ? [] : await pageOf();
      return { items: await withAttempts(rows), ...length };
    },
    finishedEventIds: async (beforeMs, limit) => (await query(events.finished, { before_ms: beforeMs, limit })).map(({ id }) => id),
  };
}

/** Changes of events and their deliveries. */
export function eventChanges({ events, deliveryAttempts }: Statements): OutboxChanges {
  return {
    insertEvent: (event) => {
      const row = eventMapping.toRow(event);
      return new BoundChange('insertEvent', [...events.insertLocks.map((lock) => step(lock, row)), guarded(events.insert, row)]);
    },
    updateEvent: ({ id, status, attempts: tries, nextAttemptAtMs }, attemptsBefore = null) => {
      const row = { id, status, attempts: tries, next_attempt_at_ms: nextAttemptAtMs };
      const update =
        attemptsBefore === null ? guarded(events.update, row) : guarded(events.updateIf, { ...row, attempts_before: attemptsBefore });
      return new BoundChange('updateEvent', [update, step(events.releaseNext, { id })]);
    },
    redeliverEvent: ({ id, notificationId, nextAttemptAtMs }) =>
      new BoundChange('redeliverEvent', [
        guarded(events.redeliver, { id, notification_id: notificationId, next_attempt_at_ms: nextAttemptAtMs }),
        step(events.holdLater, { id }),
      ]),
    insertDeliveryAttempt: (eventId, attempt) =>
      new BoundChange('insertDeliveryAttempt', [
        guarded(deliveryAttempts.insert, { ...deliveryAttemptMapping.toRow(attempt), event_id: eventId }),
        step(deliveryAttempts.deleteOldest, { event_id: eventId }),
      ]),
    deleteFinishedEvent: (id) => new BoundChange('deleteFinishedEvent', [step(events.deleteFinished, { id })]),
  };
}
