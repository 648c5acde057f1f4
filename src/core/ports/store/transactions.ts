import type { Approval, LaneId, OpenTransaction, Transaction, TransactionStatus, TransactionView } from '../../records/transaction.js';
import type { Change } from './change.js';
import type { PageOf, PageQuery } from './page.js';

/** The facts that decide whether a transaction can be removed. */
export interface OldTransaction {
  readonly id: string;
  /** The transaction's ordinal among its relayer's, in order of acceptance and without gaps. */
  readonly place: number;
  /** When it became final; null: it is open. */
  readonly endedAtMs: number | null;
  /**
   * An open transaction has an attempt in one of its slots, and must outbid this one's attempts there; or it is not counted yet what it has
   * spent of limits.
   */
  readonly isNeeded: boolean;
}

/** How a transaction's row is written. */
export interface TransactionUpdate {
  /** The revision that must be stored now. Absent: one less than the new one. */
  readonly revisionBefore?: number;
  /** When the transaction became final, if the new status is final; the first time counts. Absent: its `updatedAtMs`. */
  readonly endedAtMs?: number;
}

/** Builders of changes of transactions. */
export interface TransactionChanges {
  /** Fails if the id is taken, or if the relayer is closed. `receivers`: see `receiverKeys`. */
  insertTransaction(transaction: Transaction, receivers?: readonly string[]): Change;
  /** Adds the receivers of a replacement to the earlier ones; never fails. */
  noteReceivers(id: string, receivers: readonly string[]): Change;
  /** Fails if a transaction of the relayer has or had this external id. */
  claimExternalId(transaction: Transaction, externalId: string): Change;
  /** Writes `next`; fails unless the stored revision is the one before it, see `TransactionUpdate`. A final status never changes. */
  updateTransaction(next: Transaction, update?: TransactionUpdate): Change;
  /**
   * Removes a final transaction with its attempts and its finished deliveries; fails if it is open or gone. The same commit must close the
   * gap in the places, see `moveTransaction`.
   */
  removeTransaction(transaction: Pick<Transaction, 'id' | 'relayerId'>): Change;
  /** Gives a transaction another place in its relayer's list; fails if it is not at `from`, or if `to` is taken. */
  moveTransaction(id: string, from: number, to: number): Change;
  /**
   * Refuses transactions of a deleted relayer from then on, also transactions that another instance still accepts, and forgets what counts
   * against its limits; fails if one of its transactions is open.
   */
  closeRelayer(id: string): Change;
  /** Allows transactions of a relayer with the id of a deleted one; never fails. */
  reopenRelayer(id: string): Change;
}

/** Queries of transactions. */
export interface TransactionReads {
  transaction(id: string): Promise<TransactionView | undefined>;
  /** Ids of the relayers that have final transactions. */
  relayersWithFinished(): Promise<readonly string[]>;
  /** A relayer's oldest transactions, oldest first by acceptance. */
  oldestTransactions(relayerId: string, limit: number): Promise<readonly OldTransaction[]>;
  /** A lane's open transactions, oldest first by acceptance: `limit` of them after the one with this id. No page: all. */
  openTransactions(lane: LaneId, page?: Omit<PageQuery, 'offset'>): Promise<readonly OpenTransaction[]>;
  /** Transactions with all their attempts, in no order; an id that is not stored is left out. */
  transactionsById(ids: readonly string[]): Promise<readonly OpenTransaction[]>;
  /** The number of a lane's `pending` transactions, counted up to `limit`. */
  waitingCount(lane: LaneId, limit: number): Promise<number>;
  /** The approvals that a lane's `pending` transactions have needed, of at most `limit` of them. */
  waitingApprovals(lane: LaneId, limit: number): Promise<readonly Approval[]>;
  /** All open transactions of a lane without their content, oldest first by acceptance. */
  openSummaries(lane: LaneId): Promise<readonly Pick<Transaction, 'id' | 'relayerId' | 'status' | 'intent' | 'revision'>[]>;
  /** Lanes that have open transactions. */
  openLanes(): Promise<readonly LaneId[]>;
  /** The id of the transaction that has or had this external id. */
  externalIdHolder(relayerId: string, externalId: string): Promise<string | undefined>;
}

/** What a list of transactions is limited to. Absent: everything. */
export interface TransactionFilter {
  readonly statuses: readonly TransactionStatus[];
  readonly externalId?: string | undefined;
  /** `key:value`. */
  readonly label?: string | undefined;
  /** The hash of any attempt. */
  readonly hash?: string | undefined;
  /** A nonce of one of the lanes, for which any attempt was signed. */
  readonly slots?: { readonly lanes: readonly LaneId[]; readonly nonce: bigint } | undefined;
  /** A receiver of any content that it had, see `receiverKey`. */
  readonly receiver?: string | undefined;
  readonly createdFromMs?: number | undefined;
  readonly createdBeforeMs?: number | undefined;
}

/** Queries of transactions in pages. */
export interface TransactionListReads {
  /** Newest first by acceptance; no statuses: all. */
  transactionsOf(relayerId: string, statuses: readonly TransactionStatus[], page: PageQuery): Promise<PageOf<TransactionView>>;
  /**
   * The transactions of several relayers, with any filter. Counts at most 1,000 from the start of the page; of several relayers, it counts
   * none behind the page.
   */
  filteredTransactions(relayerIds: readonly string[], filter: TransactionFilter, page: PageQuery): Promise<PageOf<TransactionView>>;
}
