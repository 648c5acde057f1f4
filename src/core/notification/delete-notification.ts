import { DomainError } from '../errors.js';
import type { Exclusively } from '../exclusively.js';
import { ConflictError, type Store } from '../ports/store.js';
import { getNotification } from './get-notification.js';

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
