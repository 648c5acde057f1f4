import type { Clock } from '../ports/clock.js';
import type { Ids } from '../ports/ids.js';
import type { Change, Changes } from '../ports/store.js';
import type { Relayer } from '../relayer/relayer.js';
import type { TransactionView } from '../transaction/transaction.js';

/** What events are made with. */
export interface EventDeps {
  readonly change: Pick<Changes, 'insertEvent'>;
  readonly clock: Clock;
  readonly ids: Ids;
  /** The REST record as the text of a JSON object: exact numbers must reach receivers as they reach callers. */
  readonly renderTransaction: (view: TransactionView) => string;
}

/**
 * The outbox row that tells of a transaction as `view` shows it, to be committed with the change it tells of; null when its relayer tells nobody.
 * The delivery must be woken after that commit.
 */
export function eventFor(deps: EventDeps, relayer: Pick<Relayer, 'notificationId'>, view: TransactionView): Change | null {
  const { change, clock, ids, renderTransaction } = deps;
  if (relayer.notificationId === null) return null;
  const id = ids.timeOrdered();
  const nowMs = clock.nowMs();
  const record = renderTransaction(view);
  if (!record.startsWith('{"')) throw new Error('a transaction was rendered as something other than a JSON object');
  const payload = `{"payload_type":"transaction",${record.slice(1)}`;
  const timestamp = new Date(nowMs).toISOString();
  return change.insertEvent({
    id,
    notificationId: relayer.notificationId,
    event: 'transaction_update',
    orderKey: view.transaction.id,
    body: `{"id":"${id}","event":"transaction_update","payload":${payload},"timestamp":"${timestamp}"}`,
    status: 'pending',
    attempts: 0,
    nextAttemptAtMs: nowMs,
    createdAtMs: nowMs,
    traceParent: view.transaction.traceParent,
  });
}
