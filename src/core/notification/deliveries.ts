import { DomainError } from '../errors.js';
import type { Ids } from '../ids.js';
import type { Clock } from '../ports/clock.js';
import { ConflictError, type PageOf, type PageQuery, type Store } from '../ports/store.js';
import { shownName } from '../safe-text.js';
import type { DeliveryRecord, Notification, OutboxEvent } from './notification.js';
import { getNotification } from './notifications.js';

/** A page of what was, or is to be, delivered to a notification, newest first. Throws `NOTIFICATION_NOT_FOUND`. */
export async function listDeliveries(
  deps: { readonly store: Store },
  notificationId: string,
  page: PageQuery,
): Promise<PageOf<DeliveryRecord>> {
  const { id } = await getNotification(deps, notificationId);
  return deps.store.read.deliveries(id, page);
}

/** What redelivering and testing work with. */
export interface DeliverNowDeps {
  readonly store: Store;
  readonly clock: Clock;
}

/** A delivery that is due now, and what its caller should know. */
export interface DeliveryDue {
  readonly delivery: DeliveryRecord;
  readonly warnings: readonly string[];
}

/**
 * Makes a delivery due now, whether it is dead, delivered or pending, with the whole retry schedule before it: the same event under the same id.
 * It takes its old place among the events of its transaction, so that pending ones that came after it wait for it, and it for those before it. One that
 * is being tried at this very moment is not tried twice at once: that try is the one.
 * Throws `NOTIFICATION_NOT_FOUND`, `DELIVERY_NOT_FOUND`.
 */
export async function redeliverDelivery(deps: DeliverNowDeps, notificationId: string, deliveryId: string): Promise<DeliveryDue> {
  const { store, clock } = deps;
  const notification = await getNotification(deps, notificationId);
  if ((await store.read.delivery(notification.id, deliveryId)) === undefined) throw deliveryNotFound(deliveryId);
  try {
    await store.commit([store.change.redeliverEvent({ id: deliveryId, notificationId: notification.id, nextAttemptAtMs: clock.nowMs() })]);
  } catch (error) {
    // It was deleted just now.
    if (error instanceof ConflictError) throw deliveryNotFound(deliveryId);
    throw error;
  }
  const delivery = await store.read.delivery(notification.id, deliveryId);
  // Its notification was deleted just now, and it with it.
  if (delivery === undefined) throw deliveryNotFound(deliveryId);
  return { delivery, warnings: goneWarnings(notification) };
}

/** Delivers an event of kind `test`, which waits for no other event and holds none back. Throws `NOTIFICATION_NOT_FOUND`. */
export async function testNotification(deps: DeliverNowDeps & { readonly ids: Ids }, notificationId: string): Promise<DeliveryDue> {
  const { store, clock, ids } = deps;
  const notification = await getNotification(deps, notificationId);
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

/** What a caller should know who wants something delivered now; empty when there is nothing. */
export function goneWarnings({ goneAtMs }: Pick<Notification, 'goneAtMs'>): string[] {
  if (goneAtMs === null) return [];
  return [`the receiver answered 410 (gone) at ${new Date(goneAtMs).toISOString()}: nothing is sent until the notification is updated`];
}

/** The 404 for an id that names no delivery of its notification. */
export function deliveryNotFound(id: string): DomainError {
  return new DomainError('not_found', 'DELIVERY_NOT_FOUND', `Delivery with ID ${shownName(id)} not found`);
}
