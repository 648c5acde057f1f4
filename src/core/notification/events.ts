import type { Ids } from '../ids.js';
import type { Clock } from '../ports/clock.js';
import type { RelayerStateEvent } from '../ports/record-event.js';
import type { Change, Changes } from '../ports/store.js';
import type { Relayer } from '../relayer/relayer.js';
import type { TransactionView } from '../transaction/transaction.js';
import type { OutboxEvent } from './notification.js';

/** What events are made with. */
export interface EventDeps {
  readonly change: Pick<Changes, 'insertEvent'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** What makes the record of a transaction. */
interface TransactionRenderer {
  /** The REST record as the text of a JSON object: exact numbers must reach receivers as they reach callers. */
  readonly renderTransaction: (view: TransactionView) => string;
}

/** What makes the record of a relayer. */
interface RelayerRenderer {
  /** As `renderTransaction`. */
  readonly renderRelayer: (relayer: Relayer) => string;
}

/**
 * The outbox row that tells of a transaction as `view` shows it, to be committed with the change it tells of; null when its relayer tells
 * nobody. The delivery must be woken after that commit.
 */
export function eventFor(
  deps: EventDeps & TransactionRenderer,
  relayer: Pick<Relayer, 'notificationId'>,
  view: TransactionView,
): Change | null {
  const { notificationId } = relayer;
  if (notificationId === null) return null;
  const record = deps.renderTransaction(view);
  if (!record.startsWith('{"')) throw new Error('a transaction was rendered as something other than a JSON object');
  const payload = `{"payload_type":"transaction",${record.slice(1)}`;
  return insertEvent(deps, {
    notificationId,
    event: 'transaction_update',
    orderKey: view.transaction.id,
    payload,
    traceParent: view.transaction.traceParent,
  });
}

/**
 * The outbox row that tells how a relayer stands now; null when it tells nobody. Events of one relayer keep their order. The delivery must
 * be woken after that commit.
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
  { payload, ...told }: Pick<OutboxEvent, 'notificationId' | 'event' | 'orderKey' | 'traceParent'> & { readonly payload: string },
): Change {
  const id = ids.timeOrdered();
  const nowMs = clock.nowMs();
  const timestamp = new Date(nowMs).toISOString();
  const body = `{"id":"${id}","event":"${told.event}","payload":${payload},"timestamp":"${timestamp}"}`;
  return change.insertEvent({ ...told, id, body, status: 'pending', attempts: 0, nextAttemptAtMs: nowMs, createdAtMs: nowMs });
}
