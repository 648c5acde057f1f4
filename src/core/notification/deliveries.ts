import { DomainError } from '../errors/errors.js';
import { ConflictError } from '../ports/store/change.js';
import type { NotificationReads } from '../ports/store/notifications.js';
import type { OutboxChanges, OutboxReads } from '../ports/store/outbox.js';
import type { PageOf, PageQuery } from '../ports/store/page.js';
import type { StoreFor } from '../ports/store/store.js';
import type { Ids } from '../records/ids.js';
import type { DeliveryRecord, Notification, OutboxEvent } from '../records/notification.js';
import { shownName } from '../text/safe-text.js';
import type { Clock } from '../work/clock.js';
import { getNotification } from './notifications.js';
import type { TestLimit } from './test-limit.js';

/**
 * Lists the past and pending deliveries of a notification, newest first: all, or only a transaction's. Throws
 * `NOTIFICATION_NOT_FOUND`.
 */
export async function listDeliveries(
  deps: { readonly store: { readonly read: NotificationReads & OutboxReads } },
  notificationId: string,
  page: PageQuery,
  transactionId?: string,
): Promise<PageOf<DeliveryRecord>> {
  const { id } = await getNotification(deps, notificationId);
  return deps.store.read.deliveries(id, page, transactionId);
}

/** Returns a delivery. Throws `NOTIFICATION_NOT_FOUND`, `DELIVERY_NOT_FOUND`. */
export async function getDelivery(
  deps: { readonly store: { readonly read: NotificationReads & OutboxReads } },
  notificationId: string,
  deliveryId: string,
): Promise<DeliveryRecord> {
  const { id } = await getNotification(deps, notificationId);
  const delivery = await deps.store.read.delivery(id, deliveryId);
  if (delivery === undefined) throw deliveryNotFound(deliveryId);
  return delivery;
}

/** True if the delivery is of an event of this transaction. */
export function isOfTransaction({ event }: DeliveryRecord, transactionId: string): boolean {
  return event.event.startsWith('transaction_') && event.orderKey === transactionId;
}

/** The dependencies of redelivering and testing. */
export interface DeliverNowDeps {
  readonly store: StoreFor<NotificationReads & OutboxReads, OutboxChanges>;
  readonly clock: Clock;
}

/** A delivery that is due now, and warnings for the caller. */
export interface DeliveryDue {
  readonly delivery: DeliveryRecord;
  readonly warnings: readonly string[];
}

/**
 * Makes a delivery due now, whether it is dead, delivered or pending: the same event with the same id and a fresh retry schedule. It keeps
 * its place among the events of its transaction: it waits for earlier pending ones, and later pending ones wait for it. A delivery attempt
 * in progress counts as the redelivery. Throws `NOTIFICATION_NOT_FOUND`, `DELIVERY_NOT_FOUND`.
 */
export async function redeliverDelivery(deps: DeliverNowDeps, notificationId: string, deliveryId: string): Promise<DeliveryDue> {
  const { store, clock } = deps;
  const notification = await getNotification(deps, notificationId);
  if ((await store.read.delivery(notification.id, deliveryId)) === undefined) throw deliveryNotFound(deliveryId);
  try {
    await store.commit([store.change.redeliverEvent({ id: deliveryId, notificationId: notification.id, nextAttemptAtMs: clock.nowMs() })]);
  } catch (error) {
    // Retention deleted it just now.
    if (error instanceof ConflictError) throw deliveryNotFound(deliveryId);
    throw error;
  }
  const delivery = await store.read.delivery(notification.id, deliveryId);
  // Its notification was deleted just now, and the delivery with it.
  if (delivery === undefined) throw deliveryNotFound(deliveryId);
  return { delivery, warnings: goneWarnings(notification) };
}

/** The dependencies of testing. */
export interface TestDeps extends DeliverNowDeps {
  readonly ids: Ids;
  readonly limitTests: TestLimit;
}

/**
 * Delivers a `test` event, which waits for no other event and delays none. Throws `NOTIFICATION_NOT_FOUND`, and `rate_limited` RATE_LIMITED
 * for too many tests.
 */
export async function testNotification(deps: TestDeps, notificationId: string): Promise<DeliveryDue> {
  const { store, clock, ids, limitTests } = deps;
  const notification = await getNotification(deps, notificationId);
  limitTests(notification.id);
  const id = ids.timeOrdered();
  const nowMs = clock.nowMs();
  const event: OutboxEvent = {
    id,
    notificationId: notification.id,
    event: 'test',
    orderKey: id,
    body: JSON.stringify({
      id,
      event: 'test',
      payload: { payload_type: 'test', notification_id: notification.id },
      timestamp: new Date(nowMs).toISOString(),
    }),
    status: 'pending',
    attempts: 0,
    nextAttemptAtMs: nowMs,
    createdAtMs: nowMs,
    traceParent: null,
  };
  await store.commit([store.change.insertEvent(event)]);
  return { delivery: { event, attempts: [] }, warnings: goneWarnings(notification) };
}

/** Warns a caller who wants a delivery to a receiver that is gone. */
function goneWarnings({ goneAtMs }: Pick<Notification, 'goneAtMs'>): string[] {
  if (goneAtMs === null) return [];
  return [`the receiver answered 410 (gone) at ${new Date(goneAtMs).toISOString()}; nothing is sent until you update the notification`];
}

function deliveryNotFound(id: string): DomainError {
  return new DomainError('not_found', 'DELIVERY_NOT_FOUND', `Delivery with ID ${shownName(id)} not found`, {
    metadata: { delivery_id: shownName(id) },
  });
}
