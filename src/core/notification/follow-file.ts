import type { Clock } from '../ports/clock.js';
import type { SecretBox } from '../ports/secret-box.js';
import type { Change, Store } from '../ports/store.js';
import type { Notification } from './notification.js';
import { rotateSigningKey } from './rotate-signing-key.js';
import { signingKeyPurpose } from './signing-key-purpose.js';

/** A notification as the configuration file has it, judged by the rules of creation. */
export interface FileNotification {
  readonly id: string;
  readonly url: string;
  readonly signingKey: string | null;
}

/**
 * Brings the stored notifications to what the configuration file says, at a start.
 *
 * One that the API never changed follows the file, also when it leaves the file. One that the API changed or created is kept, one that it deleted stays
 * deleted; the sentences returned tell of both. The file's mark on an entry is the revision that it last wrote.
 */
export async function followFile(
  deps: { readonly store: Store; readonly secretBox: SecretBox; readonly clock: Clock },
  wanted: readonly FileNotification[],
): Promise<readonly string[]> {
  const { store, secretBox, clock } = deps;
  const { change, read } = store;
  const writtenRevisions = new Map((await read.fileEntries('notification')).map(({ id, revision }) => [id, revision]));
  const remarks: string[] = [];
  const changes: Change[] = [];

  function write(notification: Notification, isNew: boolean): void {
    changes.push(isNew ? change.insertNotification(notification) : change.updateNotification(notification));
    changes.push(change.putFileEntry({ kind: 'notification', id: notification.id, revision: notification.revision }));
  }

  function newNotification(id: string): Omit<Notification, 'url' | 'goneAtMs'> {
    return { id, type: 'webhook', sealedSigningKey: null, retiredKeys: [], createdAtMs: clock.nowMs(), revision: 0 };
  }

  function isAsWanted(stored: Notification, { id, url, signingKey }: FileNotification): boolean {
    const storedKey = stored.sealedSigningKey === null ? null : secretBox.open(stored.sealedSigningKey, signingKeyPurpose(id));
    return stored.url === url && storedKey === signingKey;
  }

  for (const entry of wanted) {
    const { id, url, signingKey } = entry;
    const written = writtenRevisions.get(id);
    writtenRevisions.delete(id);
    const stored = await read.notification(id);
    if (stored === undefined && written !== undefined) {
      remarks.push(`notification ${id} of the configuration file was deleted by API and stays deleted`);
    } else if (stored !== undefined && stored.revision !== written) {
      remarks.push(
        `notification ${id} was ${written === undefined ? 'created' : 'changed'} by API and is kept; the configuration file's entry is not used`,
      );
    } else if (stored === undefined || !isAsWanted(stored, entry)) {
      const next = stored ?? newNotification(id);
      const keys = rotateSigningKey(deps, next, signingKey);
      write({ ...next, ...keys, url, goneAtMs: null, revision: next.revision + 1 }, stored === undefined);
    }
  }
  for (const [id, written] of writtenRevisions) {
    const stored = await read.notification(id);
    if (stored?.revision === written) changes.push(change.deleteNotification(stored));
    changes.push(change.deleteFileEntry({ kind: 'notification', id }));
  }
  if (changes.length > 0) await store.commit(changes);
  return remarks;
}
