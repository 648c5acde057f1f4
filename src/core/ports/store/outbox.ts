import type { DeliveryAttempt, DeliveryRecord, OutboxEvent } from '../../records/notification.js';
import type { Change } from './change.js';
import type { PageOf, PageQuery } from './page.js';

/** A notification with pending events, each of them the oldest of its order key. */
export interface PendingTarget {
  readonly notificationId: string;
  /** True if an event is due now. */
  readonly isDue: boolean;
  /** When the next of the others is due; undefined: there is none. */
  readonly nextAtMs: number | undefined;
}

/** Builders of changes of events and their deliveries. */
export interface OutboxChanges {
  insertEvent(event: OutboxEvent): Change;
  /**
   * Writes an event's status, attempts and next attempt; fails if it is gone, or if its stored number of attempts is not `attemptsBefore`
   * (null or absent: any).
   */
  updateEvent(event: Pick<OutboxEvent, 'id' | 'status' | 'attempts' | 'nextAttemptAtMs'>, attemptsBefore?: number | null): Change;
  /** Makes an event of any status pending, with a fresh retry schedule and its old place in its order key; fails if it is gone. */
  redeliverEvent(event: Pick<OutboxEvent, 'id' | 'notificationId' | 'nextAttemptAtMs'>): Change;
  /** Stores a delivery attempt, and keeps the latest 20 of its event. */
  insertDeliveryAttempt(eventId: string, attempt: DeliveryAttempt): Change;
  /** Deletes an event and its delivery attempts unless it is pending; never fails. */
  deleteFinishedEvent(id: string): Change;
}

/** Queries of events and their deliveries. */
export interface OutboxReads {
  /** The notifications with pending events. Its cost depends on the number of notifications, not on their backlogs. */
  pendingTargets(nowMs: number): Promise<readonly PendingTarget[]>;
  /** A notification's events due at `nowMs`, longest due first; at most one per order key, and none behind an older pending one. */
  dueEvents(notificationId: string, nowMs: number, limit: number): Promise<readonly OutboxEvent[]>;
  /** The number of pending events, counted up to `limit`. */
  pendingEventCount(limit: number): Promise<number>;
  /** Undefined also if the event belongs to another notification. */
  delivery(notificationId: string, eventId: string): Promise<DeliveryRecord | undefined>;
  /** Newest first. `transactionId`: only the events of this transaction. */
  deliveries(notificationId: string, page: PageQuery, transactionId?: string): Promise<PageOf<DeliveryRecord>>;
  /** Ids of events that were delivered or given up before this time, oldest end first. */
  finishedEventIds(beforeMs: number, limit: number): Promise<readonly string[]>;
}
