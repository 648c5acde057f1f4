import type { SaveResponse } from '../access/idempotency.js';
import { DomainError, invalidField } from '../errors.js';
import type { Exclusively } from '../exclusively.js';
import type { Ids } from '../ids.js';
import type { Clock } from '../ports/clock.js';
import type { SecretBox } from '../ports/secret-box.js';
import { ConflictError, type PageOf, type PageQuery, type Store } from '../ports/store.js';
import { shownName } from '../safe-text.js';
import type { Notification } from './notification.js';
import { checkSigningKey, type RotationDeps, rotateSigningKey, signingKeyPurpose, signingKeyWarnings } from './signing-key.js';
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

/** What updating works with. */
export interface UpdateNotificationDeps extends RotationDeps {
  readonly store: Store;
  /** True: webhooks may point to private addresses. */
  readonly allowPrivateTargets: boolean;
}

/** What a caller wants changed. */
export interface NotificationChange {
  readonly id: string;
  /** Absent: kept. */
  readonly url: string | undefined;
  /** Absent: kept. Empty: removed. */
  readonly signingKey: string | undefined;
}

/**
 * Changes a notification. One whose receiver was gone is delivered to again, also when it is set to what it was. A request that sets nothing is no
 * change. Throws `FIELD_INVALID`, `WEBHOOK_TARGET_REFUSED`, `NOTIFICATION_NOT_FOUND`.
 */
export async function updateNotification(deps: UpdateNotificationDeps, wanted: NotificationChange): Promise<NotificationWritten> {
  const { store, allowPrivateTargets } = deps;
  const { id, url, signingKey } = wanted;
  if (url !== undefined) checkWebhookTarget(url, allowPrivateTargets);
  if (signingKey !== undefined && signingKey !== '') checkSigningKey(signingKey);
  const warnings = signingKey === undefined || signingKey === '' ? [] : signingKeyWarnings(signingKey);
  // A conflict means that another update was written: each round somebody gets further.
  for (;;) {
    const stored = await getNotification(deps, id);
    if (url === undefined && signingKey === undefined) return { notification: stored, warnings };
    const notification = {
      ...stored,
      url: url ?? stored.url,
      ...(signingKey === undefined ? {} : rotateSigningKey(deps, stored, signingKey === '' ? null : signingKey)),
      goneAtMs: null,
      revision: stored.revision + 1,
    };
    try {
      await store.commit([store.change.updateNotification(notification)]);
      return { notification, warnings };
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
    }
  }
}

/** What deleting works with. */
export interface DeleteNotificationDeps {
  readonly store: Store;
  /** The relayers that tell of themselves through this notification, by id. */
  readonly relayersUsing: (notificationId: string) => readonly string[];
  /** So that no relayer comes to use it meanwhile. */
  readonly exclusively: Exclusively;
}

/** An error should stay readable, and small enough for a header. */
const namedRelayers = 10;

/**
 * Deletes a notification and its undelivered events, with the record of their tries. Throws `NOTIFICATION_NOT_FOUND`,
 * `NOTIFICATION_IN_USE`.
 */
export function deleteNotification(deps: DeleteNotificationDeps, id: string): Promise<void> {
  return deps.exclusively(() => deleteUnused(deps, id));
}

async function deleteUnused(deps: DeleteNotificationDeps, id: string): Promise<void> {
  const { store, relayersUsing } = deps;
  for (;;) {
    const stored = await getNotification(deps, id);
    const users = relayersUsing(id);
    if (users.length > 0) throw notificationInUse(users);
    try {
      await store.commit([store.change.deleteNotification(stored)]);
      return;
    } catch (error) {
      // It was updated or deleted meanwhile: look again.
      if (!(error instanceof ConflictError)) throw error;
    }
  }
}

function notificationInUse(users: readonly string[]): DomainError {
  const named = users.slice(0, namedRelayers).join(', ');
  const more = users.length > namedRelayers ? ` and ${users.length - namedRelayers} more` : '';
  return new DomainError('precondition', 'NOTIFICATION_IN_USE', `Notification is used by the relayers ${named}${more}`);
}

/** Reads a notification. Throws `NOTIFICATION_NOT_FOUND`, also for what cannot be an id. */
export async function getNotification({ store }: { readonly store: Store }, id: string): Promise<Notification> {
  const notification = isNotificationId(id) ? await store.read.notification(id) : undefined;
  if (notification === undefined) throw notificationNotFound(id);
  return notification;
}

/** A page of all notifications, newest first; past the end an empty one, with the true total. */
export function listNotifications({ store }: { readonly store: Store }, page: PageQuery): Promise<PageOf<Notification>> {
  return store.read.notifications(page);
}

const pattern = /^[A-Za-z0-9_-]{1,36}$/;

/** True for what can be a notification's id: 1 to 36 of `A-Z a-z 0-9 _ -`. Anything else names no notification, and need not be looked up. */
export function isNotificationId(text: string): boolean {
  return pattern.test(text);
}

/** The id that a caller chose for a new notification. Throws `FIELD_INVALID`. */
export function notificationIdFromText(text: string): string {
  if (!isNotificationId(text)) throw invalidField('id', 'must be 1 to 36 of the characters A-Z, a-z, 0-9, _ and -');
  return text;
}

/** The 404 for an id that names no notification. */
export function notificationNotFound(id: string): DomainError {
  return new DomainError('not_found', 'NOTIFICATION_NOT_FOUND', `Notification with ID ${shownName(id)} not found`, {
    fixedText: 'Notification not found',
  });
}
