import type { SaveResponse } from '../access/idempotency.js';
import type { Attempt, LaneId, Transaction, TransactionView } from '../transaction/transaction.js';
import type { OpenTransaction } from './store.js';

/** What an open transaction becomes, in one commit. */
export interface Move {
  /** One revision after the other; one event for each change of status. */
  readonly steps: readonly [Transaction, ...Transaction[]];
  /** The version that was signed for it. */
  readonly newAttempt?: Attempt;
  /** True: an event is told of the last step, whether its status changed or not. */
  readonly tell?: boolean;
  readonly saveResponse?: SaveResponse<TransactionView> | undefined;
}

/**
 * Decides on an open transaction as it is now. It may sign, but asks no node: what it needs of a node was asked before, and is compared with what it
 * sees. Null: nothing is to be done. What it throws is thrown on.
 */
export type Decide = (current: OpenTransaction) => Promise<Move | null> | Move | null;

/** The lanes: every change of an open transaction goes through the one of its account. */
export interface Lanes {
  /** Takes up a transaction that was stored; returns at once. */
  accept(transaction: Transaction): void;
  /**
   * Changes an open transaction, one change at a time. Resolves to what it is then; null when it is not open any more, or `decide` said so.
   */
  move(lane: LaneId, transactionId: string, decide: Decide): Promise<OpenTransaction | null>;
}
