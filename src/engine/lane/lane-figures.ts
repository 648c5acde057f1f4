import type { TransactionStatus } from '../../core/transaction/transaction.js';
import type { OpenTransactions } from './open-transactions.js';

/** How a lane stands. */
export interface LaneFigures {
  readonly relayerId: string;
  /** Open transactions of which nothing is signed. */
  readonly waiting: number;
  /** The other open ones. */
  readonly inFlight: number;
  /** Open transactions by status. */
  readonly open: ReadonlyMap<TransactionStatus, number>;
  /** When the oldest open transaction was accepted; null: none is open. */
  readonly oldestOpenMs: number | null;
}

/** Counts what is in a lane's book: a walk over all of it. */
export function figuresOf(transactions: OpenTransactions): Omit<LaneFigures, 'relayerId'> {
  const open = new Map<TransactionStatus, number>();
  let oldestOpenMs: number | null = null;
  for (const some of [transactions.waiting(), transactions.slotted(), transactions.unsequenced()]) {
    for (const { transaction } of some) {
      open.set(transaction.status, (open.get(transaction.status) ?? 0) + 1);
      if (oldestOpenMs === null || transaction.createdAtMs < oldestOpenMs) oldestOpenMs = transaction.createdAtMs;
    }
  }
  return {
    waiting: transactions.waitingCount(),
    inFlight: transactions.slottedCount() + transactions.unsequencedCount(),
    open,
    oldestOpenMs,
  };
}
