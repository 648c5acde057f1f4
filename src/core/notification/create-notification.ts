import type { SaveResponse } from '../access/idempotency.js';
import { DomainError } from '../errors.js';
import type { Clock } from '../ports/clock.js';
import type { Ids } from '../ports/ids.js';
import type { SecretBox } from '../ports/secret-box.js';
import { ConflictError, type Store } from '../ports/store.js';
import type { Notification } from './notification.js';
import { notificationIdFromText } from './notification-id.js';
import { checkSigningKey, signingKeyWarnings } from './signing-key.js';
import { signingKeyPurpose } from './signing-key-purpose.js';
import { checkWebhookTarget } from './webhook-target.js';

/** What creating works with. */
export interface CreateNotificationDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly secretBox: SecretBox;
  /** True: webhooks may point to private addresses. */
  readonly allowPrivateTargets: boolean;
}

/** A notification as its caller words it. */
export interface NewNotification {
  /** Absent: a UUID. */
  readonly id: string | undefined;
  readonly url: string;
  /** Absent or empty: deliveries are not signed. */
  readonly signingKey: string | undefined;
}

/** A notification that was written, and what its caller should know. */
export interface NotificationWritten {
  readonly notification: Notification;
  readonly warnings: readonly string[];
}

/**
 * Creates a notification. Throws `FIELD_INVALID`, `WEBHOOK_TARGET_REFUSED`, `NOTIFICATION_EXISTS`.
 */
export async function createNotification(
  deps: CreateNotificationDeps,
  wanted: NewNotification,
  saveResponse: SaveResponse<NotificationWritten> = () => [],
): Promise<NotificationWritten> {
  const { store, clock, ids, secretBox, allowPrivateTargets } = deps;
  const id = wanted.id === undefined ? ids.random() : notificationIdFromText(wanted.id);
  const signingKey = wanted.signingKey === '' ? undefined : wanted.signingKey;
  checkWebhookTarget(wanted.url, allowPrivateTargets);
  if (signingKey !== undefined) checkSigningKey(signingKey);
  const notification: Notification = {
    id,
    type: 'webhook',
    url: wanted.url,
    sealedSigningKey: signingKey === undefined ? null : secretBox.seal(signingKey, signingKeyPurpose(id)),
    retiredKeys: [],
    goneAtMs: null,
    createdAtMs: clock.nowMs(),
    revision: 1,
  };
  const written: NotificationWritten = { notification, warnings: signingKey === undefined ? [] : signingKeyWarnings(signingKey) };
  try {
    await store.commit([store.change.insertNotification(notification), ...saveResponse(written)]);
  } catch (error) {
    if (error instanceof ConflictError) throw notificationExists(id);
    throw error;
  }
  return written;
}

function notificationExists(id: string): DomainError {
  return new DomainError('already_exists', 'NOTIFICATION_EXISTS', `Notification with ID ${id} already exists`, {
    fixedText: 'Notification with this ID already exists',
  });
}
