import type { DefinitionWriter } from '../definitions/definition-writer.js';
import { DomainError, invalidField } from '../errors/errors.js';
import { readAll } from '../errors/read-all.js';
import type { SecretBox } from '../ports/secret-box.js';
import { isConflict } from '../ports/store/change.js';
import type { NotificationChanges, NotificationReads } from '../ports/store/notifications.js';
import type { PageOf, PageQuery } from '../ports/store/page.js';
import type { StoreFor } from '../ports/store/store.js';
import type { SaveResponse } from '../ports/store/stored-responses.js';
import type { Ids } from '../records/ids.js';
import type { Notification } from '../records/notification.js';
import { checkRelayerIds, entryIdFromText, inUse, isEntryId } from '../text/entry-id.js';
import { isMasked, maskedUrl, whyMaskedRefused } from '../text/masked-url.js';
import { shownName } from '../text/safe-text.js';
import type { Clock } from '../work/clock.js';
import { decideAgain } from '../work/decide-again.js';
import type { Exclusively } from '../work/one-at-a-time.js';
import { checkSigningKey, rotateSigningKey, signingKeyPurpose, signingKeyWarnings } from './signing-key.js';
import { checkWebhookTarget } from './webhook-target.js';

/** The dependencies of creating, changing and deleting notifications. */
export interface NotificationDeps {
  readonly store: StoreFor<NotificationReads, NotificationChanges>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly secretBox: SecretBox;
  /** True: webhooks may point to private addresses. */
  readonly allowPrivateTargets: boolean;
  /** Returns the ids of the relayers that use this notification. */
  readonly relayersUsing: (notificationId: string) => readonly string[];
  /** Prevents a relayer from starting to use a notification during its deletion. */
  readonly exclusively: Exclusively;
  readonly writer: Pick<DefinitionWriter, 'commit'>;
}

/** A notification as requested. */
export interface NewNotification {
  /** Absent: a UUID. */
  readonly id: string | undefined;
  readonly url: string;
  /** Absent or empty: deliveries are not signed. */
  readonly signingKey: string | undefined;
  /** The relayers whose events it may get, which need not exist. Absent or null: all. */
  readonly relayerIds?: readonly string[] | null;
}

/** A written notification, and warnings for the caller. */
export interface NotificationWritten {
  readonly notification: Notification;
  readonly warnings: readonly string[];
}

/**
 * Checks what a caller sets; an absent part is not checked. Throws `FIELD_INVALID` or `WEBHOOK_TARGET_REFUSED`, naming every field that is
 * wrong.
 */
export function checkNotificationParts(
  { id, url, signingKey, relayerIds }: Partial<Omit<NewNotification, 'url'>> & { readonly url?: string | undefined },
  { allowPrivateTargets }: Pick<NotificationDeps, 'allowPrivateTargets'>,
): void {
  readAll({
    id: () => id === undefined || entryIdFromText(id),
    url: () => url === undefined || checkWebhookTarget(url, allowPrivateTargets),
    signingKey: () => signingKey === undefined || signingKey === '' || checkSigningKey(signingKey),
    relayerIds: () => checkRelayerIds(relayerIds ?? []),
  });
}

/**
 * Creates a notification. Throws `FIELD_INVALID`, `WEBHOOK_TARGET_REFUSED`, `NOTIFICATION_EXISTS`.
 */
export async function createNotification(
  deps: Omit<NotificationDeps, 'relayersUsing' | 'exclusively' | 'writer'>,
  wanted: NewNotification,
  saveResponse: SaveResponse<NotificationWritten> = () => [],
): Promise<NotificationWritten> {
  const { store, clock, ids, secretBox } = deps;
  checkNotificationParts(wanted, deps);
  const id = wanted.id ?? ids.random();
  const signingKey = wanted.signingKey === '' ? undefined : wanted.signingKey;
  // A conflict in a commit delays the commits of others, so it must remain rare.
  if ((await store.read.notification(id)) !== undefined) throw notificationExists(id);
  const notification = newNotification(
    { secretBox, clock },
    { id, url: wanted.url, signingKey: signingKey ?? null, relayerIds: wanted.relayerIds ?? null },
  );
  const written: NotificationWritten = { notification, warnings: signingKey === undefined ? [] : signingKeyWarnings(signingKey) };
  try {
    await store.commit([store.change.insertNotification(notification), ...saveResponse(written)]);
  } catch (error) {
    if (isConflict(error)) throw notificationExists(id);
    throw error;
  }
  return written;
}

/** Returns the first revision of a notification whose parts are checked. */
export function newNotification(
  { secretBox, clock }: Pick<NotificationDeps, 'secretBox' | 'clock'>,
  {
    id,
    url,
    signingKey,
    relayerIds = null,
  }: Omit<NewNotification, 'signingKey'> & { readonly id: string; readonly signingKey: string | null },
): Notification {
  const sealedSigningKey = signingKey === null ? null : secretBox.seal(signingKey, signingKeyPurpose(id));
  return {
    id,
    type: 'webhook',
    url,
    sealedSigningKey,
    retiredKeys: [],
    goneAtMs: null,
    createdAtMs: clock.nowMs(),
    relayerIds: relayerIds && [...new Set(relayerIds)],
    revision: 1,
  };
}

function notificationExists(id: string): DomainError {
  return new DomainError('already_exists', 'NOTIFICATION_EXISTS', `Notification with ID ${id} already exists`, {
    fixedText: 'Notification with this ID already exists',
    metadata: { notification_id: id },
  });
}

/** Reads a notification. Throws `NOTIFICATION_NOT_FOUND`, also for a text that cannot be an id. */
export async function getNotification(
  { store }: { readonly store: { readonly read: NotificationReads } },
  id: string,
): Promise<Notification> {
  const notification = isEntryId(id) ? await store.read.notification(id) : undefined;
  if (notification !== undefined) return notification;
  throw new DomainError('not_found', 'NOTIFICATION_NOT_FOUND', `Notification with ID ${shownName(id)} not found`, {
    fixedText: 'Notification not found',
    metadata: { notification_id: shownName(id) },
  });
}

/** Lists all notifications, newest first. A page past the end is empty and has the true total. */
export function listNotifications(
  { store }: { readonly store: { readonly read: NotificationReads } },
  page: PageQuery,
): Promise<PageOf<Notification>> {
  return store.read.notifications(page);
}

/** A requested change of a notification. */
export interface NotificationChange {
  readonly id: string;
  /** Absent, or as answers show it: unchanged. */
  readonly url: string | undefined;
  /** Absent: unchanged. Empty: removed. */
  readonly signingKey: string | undefined;
}

/**
 * Changes a notification. An update that sets a field, even to the same value, resumes deliveries to a receiver that was gone; one that
 * sets nothing changes nothing. Throws `FIELD_INVALID`, `WEBHOOK_TARGET_REFUSED`, `NOTIFICATION_NOT_FOUND`.
 */
export async function updateNotification(
  deps: Pick<NotificationDeps, 'store' | 'clock' | 'secretBox' | 'allowPrivateTargets'>,
  wanted: NotificationChange,
): Promise<NotificationWritten> {
  const { store } = deps;
  const { id, url, signingKey } = wanted;
  const keepsUrl = url === undefined || isMasked(url);
  checkNotificationParts({ url: keepsUrl ? undefined : url, signingKey }, deps);
  const warnings = signingKey === undefined || signingKey === '' ? [] : signingKeyWarnings(signingKey);
  return decideAgain(async () => {
    const stored = await getNotification(deps, id);
    if (url === undefined && signingKey === undefined) return { notification: stored, warnings };
    if (keepsUrl && url !== undefined && url !== maskedUrl(stored.url)) throw invalidField('url', whyMaskedRefused);
    const notification = {
      ...stored,
      url: keepsUrl ? stored.url : url,
      ...(signingKey === undefined ? {} : rotateSigningKey(deps, stored, signingKey === '' ? null : signingKey)),
      goneAtMs: null,
      revision: stored.revision + 1,
    };
    await store.commit([store.change.updateNotification(notification)]);
    return { notification, warnings };
  }, isConflict);
}

/**
 * Deletes a notification with its pending events and their delivery attempts. Throws `NOTIFICATION_NOT_FOUND`, `NOTIFICATION_IN_USE`.
 */
export async function deleteNotification(
  deps: Pick<NotificationDeps, 'store' | 'relayersUsing' | 'exclusively' | 'writer'>,
  id: string,
): Promise<void> {
  const { store, relayersUsing, exclusively, writer } = deps;
  const decide = async (): Promise<void> => {
    const stored = await getNotification(deps, id);
    const users = relayersUsing(id);
    if (users.length > 0) throw inUse('Notification', users, 'set another notification_id for them first', 'NOTIFICATION_IN_USE');
    // The writer keeps a relayer of another instance from using it meanwhile.
    await writer.commit([], [store.change.deleteNotification(stored)], () => undefined);
  };
  await decideAgain(() => exclusively(decide), isConflict);
}
