import type { Notification } from '../../records/notification.js';
import type { Change } from './change.js';
import type { PageOf, PageQuery } from './page.js';

/** Builders of changes of notifications. */
export interface NotificationChanges {
  /** Fails if the id is taken. */
  insertNotification(notification: Notification): Change;
  /** Writes `next`; fails unless its revision is one more than the stored one. */
  updateNotification(next: Notification): Change;
  /** Writes the sealed URL and signing keys and keeps the revision; fails if the stored revision differs. */
  resealNotification(notification: Pick<Notification, 'id' | 'revision' | 'url' | 'sealedSigningKey' | 'retiredKeys'>): Change;
  /** Sets `goneAtMs` unless the stored revision differs; never fails. */
  markNotificationGone(notification: Pick<Notification, 'id' | 'revision'>, goneAtMs: number): Change;
  /** Deletes a notification and its pending events; fails if the stored revision differs. */
  deleteNotification(notification: Pick<Notification, 'id' | 'revision'>): Change;
}

/** Queries of notifications. */
export interface NotificationReads {
  notification(id: string): Promise<Notification | undefined>;
  /** The notifications with `relayerIds`, newest first. */
  limitedNotifications(): Promise<readonly Notification[]>;
  notifications(page: PageQuery): Promise<PageOf<Notification>>;
}
