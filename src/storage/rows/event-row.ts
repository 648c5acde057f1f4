import type { Selectable } from 'kysely';
import type { OutboxEvent } from '../../core/notification/notification.js';
import type { EventTable } from '../schema.js';

/** An event's columns, without those that the store gives it. */
export type EventRow = Omit<Selectable<EventTable>, 'seq' | 'waits_behind'>;

/** The columns of a row, by name. */
export const eventColumns = [
  'id',
  'notification_id',
  'event',
  'order_key',
  'body',
  'status',
  'attempts',
  'next_attempt_at_ms',
  'created_at_ms',
  'trace_parent',
] as const satisfies readonly (keyof EventRow)[];

/** The row that stores an event. */
export function rowFromEvent(event: OutboxEvent): EventRow {
  return {
    id: event.id,
    notification_id: event.notificationId,
    event: event.event,
    order_key: event.orderKey,
    body: event.body,
    status: event.status,
    attempts: event.attempts,
    next_attempt_at_ms: event.nextAttemptAtMs,
    created_at_ms: event.createdAtMs,
    trace_parent: event.traceParent,
  };
}

/** The event that a row stores. */
export function eventFromRow(row: EventRow): OutboxEvent {
  return {
    id: row.id,
    notificationId: row.notification_id,
    event: row.event,
    orderKey: row.order_key,
    body: row.body,
    status: row.status,
    attempts: row.attempts,
    nextAttemptAtMs: row.next_attempt_at_ms,
    createdAtMs: row.created_at_ms,
    traceParent: row.trace_parent,
  };
}
