import type { OpenTransaction } from '../ports/store.js';
import type { Relayer } from '../relayer/relayer.js';
import { findTransaction } from './find-transaction.js';
import { endedUnsigned } from './lifecycle.js';
import { outbid } from './outbid.js';
import { requireWaiting } from './replaceable.js';
import type { TransactionDeps } from './send-transaction.js';
import type { Transaction, TransactionView } from './transaction.js';
import { viewOf } from './transaction-changes.js';

/**
 * Cancels a waiting transaction: at once when nothing is signed, else by a self-transfer that outbids it in its slot.
 * A second cancel changes nothing. Throws 404; 400 when it waits no more or the self-transfer cannot be made; 503 with nothing changed.
 */
export async function cancelTransaction(deps: TransactionDeps, relayer: Relayer, transactionId: string): Promise<TransactionView> {
  const require = (current: OpenTransaction) => requireWaiting(current.transaction, 'cancelled');
  for (;;) {
    const view = await findTransaction(deps.store.read, relayer.id, transactionId);
    const { transaction } = view;
    if (isCancelAccepted(transaction)) return view;
    requireWaiting(transaction, 'cancelled');
    const seen = { transaction, attempts: await deps.store.read.attemptsOf(transactionId) };
    const canceled =
      transaction.nonce === null
        ? await deps.lanes.move(transaction, transactionId, (current) => {
            if (isCancelAccepted(current.transaction) || current.transaction.nonce !== null) return null;
            require(current);
            return { steps: [endedUnsigned(current.transaction, 'canceled', 'cancelled before it was signed')] };
          })
        : await outbid(deps, relayer, seen, 'cancel', null, (current) => {
            // Another cancel came first: the next look finds it.
            if (!isCancelAccepted(current.transaction)) require(current);
          });
    if (canceled !== null) return viewOf(canceled);
  }
}

function isCancelAccepted({ intent, status }: Transaction): boolean {
  return intent === 'cancel' && (status === 'canceled' || status === 'pending' || status === 'sent' || status === 'submitted');
}
