import type { LaneId, Transaction, TransactionView } from '../../records/transaction.js';

/** A transaction as its last change left it. */
export interface ChangedTransaction {
  readonly view: TransactionView;
  /** Its place in the order of acceptance. */
  readonly place: number;
  /** The position of its last change among those of its relayer; they become visible in this order. */
  readonly position: number;
}

/** That a transaction has changed. */
export type ChangeSummary = Pick<Transaction, 'id' | 'revision' | 'status'> & Pick<ChangedTransaction, 'position'>;

/** How far the changes of a relayer's transactions have come. */
export interface ChangePositions {
  /** The position of the last change; 0: none. */
  readonly last: number;
  /** The highest position of a removed transaction; 0: none was removed. */
  readonly removedThrough: number;
}

/** Queries of what changed, for watch streams. */
export interface FeedReads {
  changePositions(relayerId: string): Promise<ChangePositions>;
  /** The position of the last change of each relayer that has any, by its id. */
  lastPositions(): Promise<ReadonlyMap<string, number>>;
  /** A relayer's transactions that changed after a position, in the order of their last changes. */
  changesAfter(relayerId: string, after: number, limit: number): Promise<readonly ChangedTransaction[]>;
  /** The same without their content. */
  changesOfRelayer(relayerId: string, after: number, limit: number): Promise<readonly ChangeSummary[]>;
  /** One transaction, if it changed after a position. */
  changeAfter(transactionId: string, after: number): Promise<ChangedTransaction | undefined>;
  /** A relayer's open transactions without changes after `upTo`, oldest first by acceptance, from after a place on. */
  openUnchanged(
    relayerId: string,
    lane: LaneId,
    range: { readonly afterPlace: number; readonly upTo: number; readonly limit: number },
  ): Promise<readonly ChangedTransaction[]>;
}
