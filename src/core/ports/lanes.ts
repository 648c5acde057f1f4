import type { Attempt, Content, LaneId, OpenTransaction, Transaction, TransactionView } from '../records/transaction.js';
import type { Change } from './store/change.js';
import type { SaveResponse } from './store/stored-responses.js';

/** A change of an open transaction, made in one commit. */
export interface Move {
  /** The new revisions in order; each change of status writes one event. */
  readonly steps: readonly [Transaction, ...Transaction[]];
  /** The attempt that was signed for it. */
  readonly newAttempt?: Attempt;
  /** True: the last step writes an event even if its status did not change. */
  readonly writesEvent?: boolean;
  /** The receivers of new content, see `receiverKeys`. */
  readonly receivers?: readonly string[] | undefined;
  /** The hash of a transaction that was signed for a caller, which did what this one asks for. */
  readonly usedSignature?: string;
  readonly saveResponse?: SaveResponse<TransactionView> | undefined;
  /** Commits the move together with the changes that reserve what its new content spends; again with others, as often as needed. */
  readonly reserve?: ((commit: (reserving: readonly Change[]) => Promise<void>) => Promise<void>) | undefined;
}

/**
 * Decides how to change an open transaction, given its present state; null: not at all. It may sign, but calls no node: the caller asked
 * the node before, and compares that answer with the state. Its errors reach the caller of `move`.
 */
export type Decide = (current: OpenTransaction) => Promise<Move | null> | Move | null;

/** Room for transactions that are not signed yet. `toApprove`: while they wait for approvals; `toSign`: otherwise. */
export interface Room {
  readonly toSign: number;
  readonly toApprove: number;
}

/** The lanes. Every change of an open transaction goes through the lane of its account. */
export interface Lanes {
  /**
   * Takes room for new transactions until the returned function is called: when they are in the lane, or were not stored. Throws
   * `rate_limited` TOO_MANY_TRANSACTIONS if more than the maximum would wait to be signed, or for approvals.
   */
  takeRoom(lane: LaneId, wanted: Room): () => void;
  /** Takes a stored transaction into its lane; returns at once. */
  accept(transaction: Transaction): void;
  /** Takes note that it is unknown whether a new transaction was stored: the lane looks for it. Returns at once. */
  noteUnanswered(lane: LaneId): void;
  /** Why such a transaction could not be signed now: its `statusReason` when it is accepted. */
  whyUnsigned(lane: LaneId, content: Content): string;
  /** How many transactions with a nonce the lane may have in flight now; null: transactions have none. */
  maxInFlight(lane: LaneId): number | null;
  /**
   * Changes an open transaction, one change at a time. Returns its new state; null if it is no longer open, or if `decide` returned null.
   *
   * `seen` is the transaction as the caller read it from the store: `decide` gets no earlier revision, so a caller that looks again makes
   * progress.
   */
  move(seen: LaneId & Pick<Transaction, 'id' | 'revision'>, decide: Decide): Promise<OpenTransaction | null>;
}
