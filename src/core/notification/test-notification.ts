import type { Ids } from '../ports/ids.js';
import { getNotification } from './get-notification.js';
import { goneWarnings } from './gone-warnings.js';
import type { OutboxEvent } from './notification.js';
import type { DeliverNowDeps, DeliveryDue } from './redeliver-delivery.js';

/** Delivers an event of kind `test`, which waits for no other event and holds none back. Throws `NOTIFICATION_NOT_FOUND`. */
export async function testNotification(deps: DeliverNowDeps & { readonly ids: Ids }, notificationId: string): Promise<DeliveryDue> {
  const { store, clock, ids } = deps;
  const notification = await getNotification(deps, notificationId);
  const id = ids.timeOrdered();
  const nowMs = clock.nowMs();
  const event: OutboxEvent = {
    id,
    notificationId: notification.id,
    event: 'test',
    orderKey: id,
    body: JSON.stringify({
      id,
      event: 'test',
      payload: { payload_type: 'test', notification_id: notification.id },
      timestamp: new Date(nowMs).toISOString(),
    }),
    status: 'pending',
    attempts: 0,
    nextAttemptAtMs: nowMs,
    createdAtMs: nowMs,
    traceParent: null,
  };
  await store.commit([store.change.insertEvent(event)]);
  return { delivery: { event, attempts: [] }, warnings: goneWarnings(notification) };
}
