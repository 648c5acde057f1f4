import type { PageOf, PageQuery, Store } from '../ports/store.js';
import { getNotification } from './get-notification.js';
import type { DeliveryRecord } from './notification.js';

/** A page of what was, or is to be, delivered to a notification, newest first. Throws `NOTIFICATION_NOT_FOUND`. */
export async function listDeliveries(
  deps: { readonly store: Store },
  notificationId: string,
  page: PageQuery,
): Promise<PageOf<DeliveryRecord>> {
  const { id } = await getNotification(deps, notificationId);
  return deps.store.read.deliveries(id, page);
}
