import type { StoreFor } from '../ports/store/store.js';
import type { TransactionChanges, TransactionReads } from '../ports/store/transactions.js';
import { isSigned, type OpenTransaction, type Transaction } from '../records/transaction.js';
import { failed, restored } from './lifecycle.js';

/** The open transactions of a restored database. */
export interface Ended {
  /** The unsigned ones; they failed. */
  readonly ended: readonly Transaction[];
  /** The signed transactions with their attempts. The chain decides about them; unsequenced transactions are not signed again. */
  readonly signed: readonly OpenTransaction[];
}

const reason =
  "restored from a backup: it may have been sent since, so it is not sent again; check the account's history before you resend";
/** Transactions ended in one commit. */
const batchSize = 200;

/**
 * Fails every unsigned transaction of a restored database: the original may have sent it since, so signing it could pay twice. For the same
 * reason a signed one gets no other slot, and one whose attempts share no slot is not signed again. Sends no webhook.
 */
export async function endWaiting({ read, change, commit }: StoreFor<TransactionReads, TransactionChanges>, nowMs: number): Promise<Ended> {
  const open: OpenTransaction[] = [];
  for (const lane of await read.openLanes()) open.push(...(await read.openTransactions(lane)));
  const waiting = open.map(({ transaction }) => transaction).filter((transaction) => !isSigned(transaction));
  for (let first = 0; first < waiting.length; first += batchSize) {
    const batch = waiting.slice(first, first + batchSize);
    await commit(
      batch.map((transaction) => change.updateTransaction({ ...failed(transaction, 'unresolvable', reason), updatedAtMs: nowMs })),
    );
  }
  const repeatable = open.map(({ transaction }) => transaction).filter(mayBeSignedAgain);
  for (let first = 0; first < repeatable.length; first += batchSize) {
    const batch = repeatable.slice(first, first + batchSize);
    await commit(batch.map((transaction) => change.updateTransaction({ ...restored(transaction), updatedAtMs: nowMs })));
  }
  return { ended: waiting, signed: open.filter(({ transaction }) => isSigned(transaction)) };
}

/** True if the service signs it with another number, or after its attempts are dead, so that one that the backup lacks could land too. */
function mayBeSignedAgain(transaction: Transaction): boolean {
  return isSigned(transaction) && transaction.intent === 'content';
}
