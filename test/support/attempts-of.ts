import type { TransactionReads } from '../../src/core/ports/store/transactions.js';
import type { Attempt } from '../../src/core/records/transaction.js';

/** All attempts of a transaction, oldest first. */
export async function attemptsOf(read: Pick<TransactionReads, 'transactionsById'>, id: string): Promise<readonly Attempt[]> {
  return (await read.transactionsById([id]))[0]?.attempts ?? [];
}
