import type { Selectable } from 'kysely';
import type { DeliveryAttempt } from '../../core/notification/notification.js';
import type { DeliveryAttemptTable } from '../schema.js';

/** A try's columns, without the one that the store gives it. */
export type DeliveryAttemptRow = Omit<Selectable<DeliveryAttemptTable>, 'seq'>;

/** The columns of a row, by name. */
export const deliveryAttemptColumns = [
  'event_id',
  'attempted_at_ms',
  'duration_ms',
  'http_status',
  'error',
  'response_body',
] as const satisfies readonly (keyof DeliveryAttemptRow)[];

/** The row that stores a try of an event. */
export function rowFromDeliveryAttempt(eventId: string, attempt: DeliveryAttempt): DeliveryAttemptRow {
  return {
    event_id: eventId,
    attempted_at_ms: attempt.attemptedAtMs,
    duration_ms: attempt.durationMs,
    http_status: attempt.httpStatus,
    error: attempt.error,
    response_body: attempt.responseBody,
  };
}

/** The try that a row stores. */
export function deliveryAttemptFromRow(row: DeliveryAttemptRow): DeliveryAttempt {
  return {
    attemptedAtMs: row.attempted_at_ms,
    durationMs: row.duration_ms,
    httpStatus: row.http_status,
    error: row.error,
    responseBody: row.response_body,
  };
}
