import { ConflictError, type Store } from '../ports/store.js';
import type { NotificationWritten } from './create-notification.js';
import { getNotification } from './get-notification.js';
import { type RotationDeps, rotateSigningKey } from './rotate-signing-key.js';
import { checkSigningKey, signingKeyWarnings } from './signing-key.js';
import { checkWebhookTarget } from './webhook-target.js';

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
