import type { Attempt, LaneId, Transaction, TransactionStatus } from '../../records/transaction.js';

/** A transaction as operators see it in its lane, with its newest attempts and the mined one, oldest first. */
export interface LaneTransaction extends Pick<Transaction, 'id' | 'status' | 'statusReason' | 'createdAtMs' | 'nonce' | 'delays'> {
  /** The version of the mined attempt; null: none is known to be mined. */
  readonly minedVersion: number | null;
  /** The newest ones that were asked for, and the mined one. Without call data, and with an empty `raw`. */
  readonly attempts: readonly Attempt[];
}

/** The open transactions of a relayer. */
export interface OpenOfRelayer {
  /** The number of unsigned transactions. */
  readonly waiting: number;
  /** The number of the others. */
  readonly inFlight: number;
  /** The oldest one that is not in a block; if all are, the oldest of them. Null: none is open. */
  readonly oldest: Pick<Transaction, 'id' | 'createdAtMs' | 'statusReason'> | null;
}

/** The numbers of transactions that changed. */
export interface ChangesByStatus {
  /** By their present status; a status without any is missing. */
  readonly totals: ReadonlyMap<TransactionStatus, number>;
  /** The position of the last change that was counted; null: there is none in the range. */
  readonly last: number | null;
}

/** Queries of what operators see. */
export interface LaneViewReads {
  /**
   * The open transactions of these relayers, by relayer; one without any is missing. The cost grows with the number of open transactions,
   * of which a relayer may have 12,000 and more.
   */
  openOf(relayerIds: readonly string[]): Promise<ReadonlyMap<string, OpenOfRelayer>>;
  /** Counts a relayer's transactions whose last changes are in this range: the first `limit` of them. */
  changesByStatus(
    relayerId: string,
    range: { readonly after: number; readonly upTo: number; readonly limit: number },
  ): Promise<ChangesByStatus>;
  /** The transactions that use these slots of a lane now, in no order. */
  laneTransactionsAt(lane: LaneId, nonces: readonly bigint[], newestAttempts: number): Promise<readonly LaneTransaction[]>;
  /** A lane's open transactions without a nonce: the `limit` oldest. */
  laneTransactionsWithoutNonce(lane: LaneId, limit: number, newestAttempts: number): Promise<readonly LaneTransaction[]>;
  /** The lowest nonce among a lane's oldest open transactions; undefined if none has a nonce. */
  lowestOpenNonce(lane: LaneId): Promise<bigint | undefined>;
}
