import type { SecretBox } from '../ports/secret-box.js';
import type { NotificationChanges, NotificationReads } from '../ports/store/notifications.js';
import type { StoreFor } from '../ports/store/store.js';
import type { Notification } from '../records/notification.js';

/** Returns the purpose that a notification's URL is sealed for. */
export function urlPurpose(id: string): string {
  return `notification-url:${id}`;
}

/** Returns the same store, which seals the URLs of notifications: the path of a webhook is often its only credential. */
export function withSealedUrls<S extends StoreFor<NotificationReads, NotificationChanges>>(
  store: S,
  secretBox: Pick<SecretBox, 'open' | 'seal'>,
): S {
  const { read, change }: StoreFor<NotificationReads, NotificationChanges> = store;
  const sealed = (notification: Notification) => ({ ...notification, url: secretBox.seal(notification.url, urlPurpose(notification.id)) });
  const opened = (notification: Notification) => ({ ...notification, url: secretBox.open(notification.url, urlPurpose(notification.id)) });
  return {
    ...store,
    read: {
      ...read,
      async notification(id) {
        const stored = await read.notification(id);
        return stored && opened(stored);
      },
      async notifications(page) {
        const { items, total } = await read.notifications(page);
        return { items: items.map(opened), total };
      },
      limitedNotifications: async () => (await read.limitedNotifications()).map(opened),
    },
    change: {
      ...change,
      insertNotification: (notification) => change.insertNotification(sealed(notification)),
      updateNotification: (next) => change.updateNotification(sealed(next)),
    },
  };
}
