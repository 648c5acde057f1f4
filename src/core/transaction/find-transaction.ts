import { DomainError } from '../errors/errors.js';
import type { AttemptReads } from '../ports/store/attempts.js';
import type { TransactionReads } from '../ports/store/transactions.js';
import { laneOf, type Relayer } from '../records/relayer.js';
import type { OpenTransaction, TransactionView } from '../records/transaction.js';
import { shownName } from '../text/safe-text.js';

/** Finds the relayer's transaction with this id. Throws 404, also if it belongs to another relayer. */
export async function findTransaction(read: TransactionReads, relayerId: string, transactionId: string): Promise<TransactionView> {
  const view = await read.transaction(transactionId);
  if (view === undefined || view.transaction.relayerId !== relayerId) throw notFound(transactionId);
  return view;
}

/**
 * Finds it with all its attempts, as they are at one moment: another instance may add one meanwhile. Throws 404 as `findTransaction` does.
 */
export async function findWithAttempts(read: TransactionReads, relayerId: string, transactionId: string): Promise<OpenTransaction> {
  const [found] = await read.transactionsById([transactionId]);
  if (found === undefined || found.transaction.relayerId !== relayerId) throw notFound(transactionId);
  return found;
}

function notFound(transactionId: string): DomainError {
  const shown = shownName(transactionId);
  return new DomainError('not_found', 'TRANSACTION_NOT_FOUND', `Transaction with ID ${shown} not found`, {
    metadata: { transaction_id: shown },
  });
}

/** Finds the relayer's transaction that has this nonce. Throws 404, and 501 if the network has no nonces. */
export async function findByNonce(read: AttemptReads & TransactionReads, relayer: Relayer, nonce: bigint): Promise<TransactionView> {
  if (relayer.networkType !== 'evm') {
    const sentence = `relayer ${relayer.id} is on a ${relayer.networkType} network, which has no nonces`;
    throw new DomainError('unimplemented', 'NOT_IMPLEMENTED', sentence, {
      metadata: { relayer_id: relayer.id, network_type: relayer.networkType },
    });
  }
  const id = await read.transactionIdAt(laneOf(relayer), nonce);
  if (id !== undefined) return findTransaction(read, relayer.id, id);
  throw new DomainError('not_found', 'TRANSACTION_NOT_FOUND', `Transaction with nonce ${nonce} not found`, {
    metadata: { nonce: String(nonce) },
  });
}
