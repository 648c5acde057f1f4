import { DomainError } from '../errors.js';
import type { Reads } from '../ports/store.js';
import { shownName } from '../shown-name.js';
import type { TransactionView } from './transaction.js';

/** The relayer's transaction with this id. Throws 404 when there is none, also when it belongs to another relayer. */
export async function findTransaction(read: Reads, relayerId: string, transactionId: string): Promise<TransactionView> {
  const view = await read.transaction(transactionId);
  if (view === undefined || view.transaction.relayerId !== relayerId) {
    throw new DomainError('not_found', 'TRANSACTION_NOT_FOUND', `Transaction with ID ${shownName(transactionId)} not found`);
  }
  return view;
}
