import type { SpendWindow } from '../../records/spending-rule.js';
import type { FailureReason, TransactionStatus } from '../../records/transaction.js';
import type { Change } from './change.js';

/** A window of a relayer's limit as it is stored. */
export interface StoredSpendWindow {
  readonly relayerId: string;
  /** See `windowOf`. */
  readonly name: string;
  /** Another one with each change, never used before: a count would come again after a change that was never stored. */
  readonly version: string;
  readonly window: SpendWindow;
}

/** An amount in a window. */
export interface ReservedSpend {
  /** The name of the window. */
  readonly window: string;
  readonly amount: bigint;
  /**
   * Set if the amount is the most that content may cost: then the fee counts that was paid, also by what failed or took its slot, and, if
   * the content succeeds, this value. Absent: the amount counts if the content succeeds.
   */
  readonly onSuccess?: bigint;
}

/** What one content of a transaction spends. */
export interface ContentSpends {
  /** The first attempt that may have it; attempts before it have earlier content. */
  readonly fromVersion: number;
  readonly spends: readonly ReservedSpend[];
}

/** What a transaction has reserved. */
export interface Reservation {
  /** What the windows hold for it; the amounts of one window add up. */
  readonly held: readonly ReservedSpend[];
  /** By their versions; an empty list: not known. */
  readonly contents: readonly ContentSpends[];
}

/** What an ended transaction has reserved. */
export interface EndedReservation {
  readonly transactionId: string;
  readonly relayerId: string;
  readonly status: TransactionStatus;
  readonly failureReason: FailureReason | null;
  /** The attempt that was mined; null: none. */
  readonly minedVersion: number | null;
  /** What the account paid for it; null: not known, or nothing was mined. */
  readonly feePaid: bigint | null;
  readonly reserved: Reservation;
}

/** Changes of what counts against limits. */
export interface SpendingChanges {
  /** Stores a window; fails unless the stored one has the version `before`; null: unless none is stored. */
  storeSpendWindow(next: StoredSpendWindow, before: string | null): Change;
  /**
   * Fails while the database lacks commits that it had answered, and after a failover until each instance whose last commits may be lost
   * has returned: a window may lack what was signed. For a window that the same commit stores before it.
   */
  requireSigningAllowed(relayerId: string, name: string): Change;
  /** Stores what a transaction has reserved, of which nothing is stored yet. */
  insertReservation(transactionId: string, reserved: Reservation): Change;
  /** Stores what a transaction has reserved; fails unless `before` is stored. */
  updateReservation(transactionId: string, next: Reservation, before: Reservation): Change;
  /** Deletes what a transaction has reserved; fails unless `before` is stored. */
  deleteReservation(transactionId: string, before: Reservation): Change;
}

/** Queries of what counts against limits. */
export interface SpendingReads {
  /** Windows of a relayer by their names; one in which nothing was counted is absent. */
  spendWindows(relayerId: string, names: readonly string[]): Promise<readonly StoredSpendWindow[]>;
  /** All windows of a relayer in which something was counted. */
  allSpendWindows(relayerId: string): Promise<readonly StoredSpendWindow[]>;
  /** What a transaction has reserved; undefined: nothing, or it has ended. */
  reservation(transactionId: string): Promise<Reservation | undefined>;
  /** What transactions that have ended have reserved, up to this number of them. */
  endedReservations(limit: number): Promise<readonly EndedReservation[]>;
}
