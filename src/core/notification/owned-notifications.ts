import type { NotificationReads } from '../ports/store/notifications.js';
import type { PageOf, PageQuery } from '../ports/store/page.js';
import type { Notification } from '../records/notification.js';
import { type Principal, relayerNotAllowed } from '../records/principal.js';

/** True if the caller may see and change the notification: it may use every relayer whose events the notification may get. */
function owns({ relayers }: Pick<Principal, 'relayers'>, { relayerIds }: Notification): boolean {
  return relayers === null || (relayerIds?.every((id) => relayers.has(id)) ?? false);
}

/** The notifications as the caller sees them: to it, other ones do not exist. */
export function ownedNotifications(read: NotificationReads, caller: Pick<Principal, 'relayers'>): NotificationReads {
  if (caller.relayers === null) return read;
  const limitedNotifications = async () => (await read.limitedNotifications()).filter((one) => owns(caller, one));
  return {
    async notification(id) {
      const found = await read.notification(id);
      return found !== undefined && owns(caller, found) ? found : undefined;
    },
    limitedNotifications,
    notifications: async (page) => pageOf(await limitedNotifications(), page),
  };
}

/** Returns the relayers whose events a new notification may get; null: all. `wanted`: empty means all that the caller may use. */
export function relayersFor(caller: Pick<Principal, 'relayers'>, wanted: readonly string[]): readonly string[] | null {
  const { relayers } = caller;
  if (wanted.length === 0) return relayers === null ? null : [...relayers];
  const foreign = relayers === null ? undefined : wanted.find((id) => !relayers.has(id));
  if (foreign !== undefined) throw relayerNotAllowed(foreign);
  return wanted;
}

function pageOf(all: readonly Notification[], { offset, limit, after }: PageQuery): PageOf<Notification> {
  const first = after === undefined ? offset : all.findIndex(({ id }) => id === after) + 1;
  return { items: all.slice(first, first + limit), total: all.length };
}
