import type { RelayerStateEvent, TransactionEvent } from '../ports/record-event.js';
import type { Change } from '../ports/store/change.js';
import type { OutboxChanges } from '../ports/store/outbox.js';
import type { Ids } from '../records/ids.js';
import type { OutboxEvent } from '../records/notification.js';
import type { Relayer } from '../records/relayer.js';
import type { TransactionView } from '../records/transaction.js';
import type { Clock } from '../work/clock.js';

/** The dependencies of building events. */
export interface EventDeps {
  readonly change: Pick<OutboxChanges, 'insertEvent'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

interface TransactionRenderer {
  /** Renders the REST record as the text of a JSON object: numbers must reach receivers as exactly as they reach callers. */
  readonly renderTransaction: (view: TransactionView) => string;
}

interface RelayerRenderer {
  /** As `renderTransaction`. */
  readonly renderRelayer: (relayer: Relayer) => string;
}

/**
 * Builds the outbox row for a transaction's change, to commit together with it; null if the relayer has no notification. Wake the delivery
 * after that commit.
 */
export function eventFor(
  deps: EventDeps & TransactionRenderer,
  relayer: Pick<Relayer, 'notificationId'>,
  view: TransactionView,
  event: TransactionEvent = 'transaction_update',
): Change | null {
  const { notificationId } = relayer;
  if (notificationId === null) return null;
  const record = deps.renderTransaction(view);
  if (!record.startsWith('{"')) throw new Error('renderTransaction returned something other than a JSON object');
  const payload = `{"payload_type":"transaction",${record.slice(1)}`;
  return insertEvent(deps, {
    notificationId,
    event,
    orderKey: view.transaction.id,
    payload,
    traceParent: view.transaction.traceParent,
  });
}

/**
 * Builds the outbox row for a relayer's present state; null if it has no notification. Events of one relayer keep their order. Wake the
 * delivery after that commit.
 */
export function relayerEventFor(deps: EventDeps & RelayerRenderer, relayer: Relayer, event: RelayerStateEvent): Change | null {
  const { id, notificationId, disabledReason } = relayer;
  if (notificationId === null) return null;
  const reason = disabledReason === null ? '' : `,"disable_reason":${JSON.stringify(disabledReason)}`;
  const payload = `{"payload_type":"${event}","relayer":${deps.renderRelayer(relayer)}${reason}}`;
  return insertEvent(deps, { notificationId, event: 'relayer_state_update', orderKey: `relayer:${id}`, payload, traceParent: null });
}

function insertEvent(
  { change, clock, ids }: EventDeps,
  { payload, ...fields }: Pick<OutboxEvent, 'notificationId' | 'event' | 'orderKey' | 'traceParent'> & { readonly payload: string },
): Change {
  const id = ids.timeOrdered();
  const nowMs = clock.nowMs();
  const timestamp = new Date(nowMs).toISOString();
  const body = `{"id":"${id}","event":"${fields.event}","payload":${payload},"timestamp":"${timestamp}"}`;
  return change.insertEvent({ ...fields, id, body, status: 'pending', attempts: 0, nextAttemptAtMs: nowMs, createdAtMs: nowMs });
}
