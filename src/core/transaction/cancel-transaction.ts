import { ConflictError } from '../ports/store.js';
import type { Relayer } from '../relayer/relayer.js';
import { findTransaction } from './find-transaction.js';
import { endedUnsigned } from './lifecycle.js';
import { outbid } from './outbid.js';
import { requireWaiting } from './replaceable.js';
import type { TransactionDeps } from './send-transaction.js';
import type { TransactionView } from './transaction.js';
import { transactionChanges } from './transaction-changes.js';

/**
 * Cancels a waiting transaction: at once when nothing is signed, else by a self-transfer that outbids it in its slot.
 * A second cancel changes nothing. Throws 404; 400 when it waits no more or the self-transfer cannot be made; 503 with nothing changed.
 */
export async function cancelTransaction(deps: TransactionDeps, relayer: Relayer, transactionId: string): Promise<TransactionView> {
  for (;;) {
    const view = await findTransaction(deps.store.read, relayer.id, transactionId);
    const { transaction } = view;
    if (isCancelAccepted(view)) return view;
    requireWaiting(transaction, 'cancelled');
    try {
      if (transaction.nonce === null) {
        const after = endedUnsigned(transaction, 'canceled', 'cancelled before it was signed');
        await deps.store.commit(transactionChanges(deps, relayer, transaction, after, []));
        return { transaction: after, shown: null };
      }
      const canceled = await deps.lanes.run(transaction, async () => {
        const current = await findTransaction(deps.store.read, relayer.id, transactionId);
        return isCancelAccepted(current) ? current : outbid(deps, relayer, transactionId, 'cancel', null);
      });
      if (canceled !== null) return canceled;
    } catch (error) {
      // Another write came between: look again.
      if (!(error instanceof ConflictError)) throw error;
    }
  }
}

function isCancelAccepted({ transaction }: TransactionView): boolean {
  return (
    transaction.intent === 'cancel' &&
    transaction.status !== 'mined' &&
    transaction.status !== 'confirmed' &&
    transaction.status !== 'failed'
  );
}
