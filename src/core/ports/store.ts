import type { Notification, OutboxEvent } from '../notification/notification.js';
import type { Attempt, LaneId, Transaction, TransactionStatus, TransactionView } from '../transaction/transaction.js';

/**
 * One statement of a commit, made by `Store.change`. Opaque outside the store.
 *
 * Read first, decide, then commit what you decided, guarded by what you read: a change that finds its guard broken undoes its whole list.
 */
export interface Change {
  /** The name of the builder that made it, for messages and tests. */
  readonly name: string;
}

/** Thrown by `commit` when a guard failed or a unique value was taken: nothing of the list was written. */
export class ConflictError extends Error {
  override readonly name = 'ConflictError';
  /** The name of the change that failed. */
  readonly change: string;

  constructor(change: string) {
    super(`conflict in ${change}`);
    this.change = change;
  }
}

/** A page of a list: `limit` items after `offset`, newest first. */
export interface PageQuery {
  readonly offset: number;
  readonly limit: number;
}

/** Items of a page, and how many the whole list has. */
export interface PageOf<T> {
  readonly items: readonly T[];
  readonly total: number;
}

/** A transaction that may still change, with all its attempts, oldest first. */
export interface OpenTransaction {
  readonly transaction: Transaction;
  readonly attempts: readonly Attempt[];
}

/** That the configuration file wrote something, and at which revision: at another one, the API has changed it since. */
export interface FileEntry {
  readonly kind: 'notification';
  readonly id: string;
  readonly revision: number;
}

/** What can be written. Every builder is pure; nothing happens before `commit`. */
export interface Changes {
  /** Fails where the id is taken. */
  insertTransaction(transaction: Transaction): Change;
  /** Writes `next`, whose revision must be one more than the stored one; fails where it is not. */
  updateTransaction(next: Transaction): Change;
  /** Fails where the slot already has this version, or the transaction has. */
  insertAttempt(attempt: Attempt): Change;
  /** Makes the lane's row unless there is one; never fails. */
  openLane(lane: LaneId, nextNonce: bigint): Change;
  /** Moves the lane's next nonce; fails where it is not `from`. */
  moveLane(lane: LaneId, from: bigint, to: bigint): Change;
  /** Remembers the chain's genesis block; fails where another is known. */
  insertChain(chain: string, genesisHash: string): Change;
  insertEvent(event: OutboxEvent): Change;
  /** Writes status, attempts and next try of an event; fails where it is gone. */
  updateEvent(event: Pick<OutboxEvent, 'id' | 'status' | 'attempts' | 'nextAttemptAtMs'>): Change;
  /** Fails where the id is taken. */
  insertNotification(notification: Notification): Change;
  /** Writes `next`, whose revision must be one more than the stored one; fails where it is not. */
  updateNotification(next: Notification): Change;
  /** Remembers which revision the configuration file wrote last; never fails. */
  putFileEntry(entry: FileEntry): Change;
  /** Forgets that the configuration file had it; never fails. */
  deleteFileEntry(entry: Pick<FileEntry, 'kind' | 'id'>): Change;
  /** Deletes it and its undelivered events; fails where its revision is another. */
  deleteNotification(notification: Pick<Notification, 'id' | 'revision'>): Change;
}

/** What can be read: committed rows only. */
export interface Reads {
  transaction(id: string): Promise<TransactionView | undefined>;
  /** Newest first by acceptance; no statuses: all. */
  transactionsOf(relayerId: string, statuses: readonly TransactionStatus[], page: PageQuery): Promise<PageOf<TransactionView>>;
  /** All attempts of a transaction, oldest first. */
  attemptsOf(transactionId: string): Promise<readonly Attempt[]>;
  /** Every version ever signed for a slot, oldest first; `mined`: the one that made a transaction of ours final there. */
  slot(lane: LaneId, nonce: bigint): Promise<{ readonly versions: readonly Attempt[]; readonly mined: Attempt | null }>;
  /** The transaction that has this nonce now; undefined when none has. */
  transactionIdAt(lane: LaneId, nonce: bigint): Promise<string | undefined>;
  /** Of one lane, oldest first by acceptance. */
  openTransactions(lane: LaneId): Promise<readonly OpenTransaction[]>;
  /** Lanes that have open transactions. */
  openLanes(): Promise<readonly LaneId[]>;
  /** The lane's next nonce; undefined before the first. */
  nextNonce(lane: LaneId): Promise<bigint | undefined>;
  /** The chain's genesis block, when one is remembered. */
  genesisHash(chain: string): Promise<string | undefined>;
  notification(id: string): Promise<Notification | undefined>;
  /** What the configuration file wrote. */
  fileEntries(kind: FileEntry['kind']): Promise<readonly FileEntry[]>;
  notifications(page: PageQuery): Promise<PageOf<Notification>>;
  /**
   * Events due at `nowMs`, at most one per order key, the oldest first; none whose order key has an older pending one, and none of the
   * notifications in `passOver` (those that are busy: their backlog must not hide the events of others behind `limit`).
   */
  dueEvents(nowMs: number, limit: number, passOver?: readonly string[]): Promise<readonly OutboxEvent[]>;
  /** When the next pending event is due; undefined when none is pending. */
  nextEventAtMs(): Promise<number | undefined>;
}

/** The database. */
export interface Store {
  readonly change: Changes;
  readonly read: Reads;
  /** All or nothing, durable when it resolves. Throws `ConflictError`; anything else thrown means the store is broken. */
  commit(changes: readonly Change[]): Promise<void>;
  /** Resolves when a write can be done, throws when not. */
  checkWritable(): Promise<void>;
  close(): Promise<void>;
}
