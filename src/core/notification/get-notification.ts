import type { Store } from '../ports/store.js';
import type { Notification } from './notification.js';
import { isNotificationId, notificationNotFound } from './notification-id.js';

/** Reads a notification. Throws `NOTIFICATION_NOT_FOUND`, also for what cannot be an id. */
export async function getNotification({ store }: { readonly store: Store }, id: string): Promise<Notification> {
  const notification = isNotificationId(id) ? await store.read.notification(id) : undefined;
  if (notification === undefined) throw notificationNotFound(id);
  return notification;
}
