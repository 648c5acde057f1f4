import type { Clock } from '../ports/clock.js';
import { ConflictError, type Store } from '../ports/store.js';
import { deliveryNotFound } from './delivery-not-found.js';
import { getNotification } from './get-notification.js';
import { goneWarnings } from './gone-warnings.js';
import type { DeliveryRecord } from './notification.js';

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
