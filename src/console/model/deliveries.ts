import { type Delivery, DeliveryStatus, EventType } from '../../../gen/relayer/v1/notification_service_pb.js';

/** The names of events, as payloads have them. */
export const eventTexts: Readonly<Record<EventType, string>> = {
  [EventType.UNSPECIFIED]: 'unknown event',
  [EventType.TRANSACTION_UPDATE]: 'transaction_update',
  [EventType.TRANSACTION_DELAYED]: 'transaction_delayed',
  [EventType.APPROVAL_REQUIRED]: 'approval_required',
  [EventType.RELAYER_STATE_UPDATE]: 'relayer_state_update',
  [EventType.TEST]: 'test',
};

/** Puts pending deliveries before the others, and keeps the order otherwise. */
export function pendingFirst(deliveries: readonly Delivery[]): readonly Delivery[] {
  const isPending = ({ status }: Delivery) => status === DeliveryStatus.PENDING;
  return [...deliveries.filter(isPending), ...deliveries.filter((delivery) => !isPending(delivery))];
}

/** Brings newer states of deliveries into a list that is newest first, and puts new ones before it. */
export function mergeDeliveries(rows: readonly Delivery[], newer: readonly Delivery[]): readonly Delivery[] {
  const byId = new Map(newer.map((delivery) => [delivery.id, delivery]));
  const known = new Set(rows.map(({ id }) => id));
  const added = newer.filter(({ id }) => !known.has(id));
  return [...added, ...rows.map((row) => byId.get(row.id) ?? row)];
}

/** A page of deliveries. */
interface DeliveryPage {
  readonly rows: readonly Delivery[];
  readonly nextPageToken: string;
}

/** Finds the ids of all dead deliveries, page by page. */
export async function* deadDeliveries(load: (pageToken: string) => Promise<DeliveryPage>): AsyncGenerator<string> {
  for (let token: string | null = ''; token !== null; ) {
    const { rows, nextPageToken }: DeliveryPage = await load(token);
    for (const { id, status } of rows) if (status === DeliveryStatus.DEAD) yield id;
    token = nextPageToken === '' ? null : nextPageToken;
  }
}
