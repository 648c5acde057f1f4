import type { PageOf, PageQuery, Store } from '../ports/store.js';
import type { Notification } from './notification.js';

/** A page of all notifications, newest first; past the end an empty one, with the true total. */
export function listNotifications({ store }: { readonly store: Store }, page: PageQuery): Promise<PageOf<Notification>> {
  return store.read.notifications(page);
}
