import type { Notification } from './notification.js';

/** What a caller should know who wants something delivered now; empty when there is nothing. */
export function goneWarnings({ goneAtMs }: Pick<Notification, 'goneAtMs'>): string[] {
  if (goneAtMs === null) return [];
  return [`the receiver answered 410 (gone) at ${new Date(goneAtMs).toISOString()}: nothing is sent until the notification is updated`];
}
