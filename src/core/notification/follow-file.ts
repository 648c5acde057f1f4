import type { SecretBox } from '../ports/secret-box.js';
import { type Change, isConflict } from '../ports/store/change.js';
import type { DefinitionChanges, DefinitionReads } from '../ports/store/definitions.js';
import type { NotificationChanges, NotificationReads } from '../ports/store/notifications.js';
import type { StoreFor } from '../ports/store/store.js';
import { isFor, type Notification } from '../records/notification.js';
import type { Relayer } from '../records/relayer.js';
import type { Clock } from '../work/clock.js';
import { decideAgain } from '../work/decide-again.js';
import { rotateSigningKey, signingKeyPurpose } from './signing-key.js';

/** A notification of the configuration file, checked by the rules of creation. */
export interface FileNotification {
  readonly id: string;
  readonly url: string;
  readonly signingKey: string | null;
}

/** The result of following the file. */
export interface Followed {
  /** Sentences about the entries that are not used. */
  readonly warnings: readonly string[];
  /** Ids of relayers whose notification does not exist, or is not for them; if there are any, nothing was written. */
  readonly without: readonly string[];
}

/**
 * Updates the stored notifications to match the configuration file, at startup.
 *
 * A notification that the API never changed follows the file, and is deleted when its entry is. One that the API created or changed stays
 * as it is, and one that the API deleted stays deleted; both produce a warning. A stored revision marks what the file wrote last.
 *
 * @param users the relayers: their events must not be lost silently, and not go to a receiver of others
 */
export function followFile(deps: FollowDeps, wanted: readonly FileNotification[], users: readonly NotificationUser[]): Promise<Followed> {
  // In a conflict, another instance wrote one of the notifications meanwhile, such as one that starts at the same time.
  return decideAgain(() => followOnce(deps, wanted, users), isConflict);
}

/** A relayer, as far as its notification is concerned. */
type NotificationUser = Pick<Relayer, 'id' | 'notificationId'>;

interface FollowDeps {
  readonly store: StoreFor<DefinitionReads & NotificationReads, DefinitionChanges & NotificationChanges>;
  readonly secretBox: SecretBox;
  readonly clock: Clock;
}

async function followOnce(
  { store, secretBox, clock }: FollowDeps,
  wanted: readonly FileNotification[],
  users: readonly NotificationUser[],
): Promise<Followed> {
  const { change, read } = store;
  const writtenRevisions = new Map((await read.fileEntries('notification')).map(({ id, revision }) => [id, revision]));
  const warnings: string[] = [];
  const changes: Change[] = [];
  /** For each id that the file has or had: whether a notification will exist. */
  const willBe = new Map<string, boolean>();

  function write(notification: Notification, isNew: boolean): void {
    changes.push(isNew ? change.insertNotification(notification) : change.updateNotification(notification));
    changes.push(change.putFileEntry({ kind: 'notification', id: notification.id, revision: notification.revision }));
  }

  function newNotification(id: string): Omit<Notification, 'url' | 'goneAtMs'> {
    return { id, type: 'webhook', sealedSigningKey: null, retiredKeys: [], createdAtMs: clock.nowMs(), relayerIds: null, revision: 0 };
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
    const isDeleted = stored === undefined && written !== undefined;
    willBe.set(id, !isDeleted);
    if (isDeleted) {
      warnings.push(`notification ${id} was deleted by the API; the configuration file's entry is not used`);
    } else if (stored !== undefined && stored.revision !== written) {
      warnings.push(
        `notification ${id} was ${written === undefined ? 'created' : 'changed'} by the API; the configuration file's entry is not used`,
      );
    } else if (stored === undefined || !isAsWanted(stored, entry)) {
      const next = stored ?? newNotification(id);
      const keys = rotateSigningKey({ secretBox, clock }, next, signingKey);
      write({ ...next, ...keys, url, goneAtMs: null, revision: next.revision + 1 }, stored === undefined);
    }
  }
  for (const [id, written] of writtenRevisions) {
    const stored = await read.notification(id);
    willBe.set(id, stored !== undefined && stored.revision !== written);
    if (stored?.revision === written) changes.push(change.deleteNotification(stored));
    changes.push(change.deleteFileEntry({ kind: 'notification', id }));
  }
  const without: string[] = [];
  for (const { id, notificationId } of users) {
    if (notificationId === null) continue;
    const stored = await read.notification(notificationId);
    const isGone = !(willBe.get(notificationId) ?? stored !== undefined);
    if (isGone || (stored !== undefined && !isFor(stored, id))) without.push(id);
  }
  if (without.length === 0 && changes.length > 0) await store.commit(changes);
  return { warnings, without };
}
