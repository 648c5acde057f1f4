import type { StoreFor } from '../ports/store/store.js';
import type { TransactionChanges, TransactionReads } from '../ports/store/transactions.js';
import { isSigned, type OpenTransaction, type Transaction } from '../records/transaction.js';
import { failed, restored } from './lifecycle.js';

/** Open transactions of a restored database. */
export interface Ended {
  /** The unsigned ones; they failed. */
  readonly ended: readonly Transaction[];
  /** The signed transactions with their attempts. The chain decides about them; unsequenced transactions are not signed again. */
  readonly signed: readonly OpenTransaction[];
}

const reason =
  "restored from a backup: it may have been sent since, so it is not sent again; check the account's history before you resend";
/** Transactions that are in memory at once, and that one commit changes. */
const pageSize = 200;

/**
 * Fails every unsigned transaction of a restored database: the original may have sent it since, so signing it could pay twice. For the same
 * reason a signed one gets no other slot, and one whose attempts share no slot is not signed again. Sends no webhook. `onEnded` is called
 * after each commit.
 */
export async function endWaiting(
  { read, change, commit }: StoreFor<TransactionReads, TransactionChanges>,
  nowMs: number,
  onEnded: (ended: Ended) => void = () => undefined,
): Promise<void> {
  for (const lane of await read.openLanes())
    for (let after: string | undefined; ; ) {
      const page = await read.openTransactions(lane, { limit: pageSize, ...(after === undefined ? {} : { after }) });
      const ended = page.map(({ transaction }) => transaction).filter((transaction) => !isSigned(transaction));
      const signed = page.filter(({ transaction }) => isSigned(transaction));
      const repeatable = signed.map(({ transaction }) => transaction).filter(mayBeSignedAgain);
      const changed = [...ended.map((transaction) => failed(transaction, 'unresolvable', reason)), ...repeatable.map(restored)];
      if (changed.length > 0) await commit(changed.map((transaction) => change.updateTransaction({ ...transaction, updatedAtMs: nowMs })));
      onEnded({ ended, signed });
      after = page.at(-1)?.transaction.id;
      if (page.length < pageSize) break;
    }
}

/**
 * True if the service signs a signed transaction with another number, or after its attempts are dead, so that one that the backup lacks
 * could land too.
 */
function mayBeSignedAgain(transaction: Transaction): boolean {
  return transaction.intent === 'content';
}
