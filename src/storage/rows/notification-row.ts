import type { Selectable } from 'kysely';
import type { Notification, RetiredKey } from '../../core/notification/notification.js';
import type { NotificationTable } from '../schema.js';

/** A notification's columns, without the one that the store gives it. */
export type NotificationRow = Omit<Selectable<NotificationTable>, 'seq'>;

/** The columns of a row, by name. */
export const notificationColumns = [
  'id',
  'type',
  'url',
  'sealed_signing_key',
  'retired_keys',
  'gone_at_ms',
  'created_at_ms',
  'revision',
] as const satisfies readonly (keyof NotificationRow)[];

/** The row that stores a notification. */
export function rowFromNotification(notification: Notification): NotificationRow {
  return {
    id: notification.id,
    type: notification.type,
    url: notification.url,
    sealed_signing_key: notification.sealedSigningKey,
    retired_keys: JSON.stringify(notification.retiredKeys),
    gone_at_ms: notification.goneAtMs,
    created_at_ms: notification.createdAtMs,
    revision: notification.revision,
  };
}

/** The notification that a row stores. */
export function notificationFromRow(row: NotificationRow): Notification {
  return {
    id: row.id,
    type: row.type,
    url: row.url,
    sealedSigningKey: row.sealed_signing_key,
    retiredKeys: JSON.parse(row.retired_keys) as RetiredKey[],
    goneAtMs: row.gone_at_ms,
    createdAtMs: row.created_at_ms,
    revision: row.revision,
  };
}
