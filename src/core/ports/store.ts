import type { ApiKey } from '../records/api-key.js';
import type { DeliveryAttempt, DeliveryRecord, Notification, OutboxEvent } from '../records/notification.js';
import type { StoredResponse, StoredResponseKey } from '../records/stored-response.js';
import type { Attempt, LaneId, Transaction, TransactionStatus, TransactionView } from '../records/transaction.js';

/**
 * One statement of a commit, built by `Store.change`. Opaque outside the store.
 *
 * Read first, decide, then commit the decision guarded by what you read. A change whose guard fails undoes its whole list.
 */
export interface Change {
  /** The name of its builder, for messages and tests. */
  readonly name: string;
}

/** Thrown by `commit` if a guard failed or a unique value was taken; nothing of the list was written. */
export class ConflictError extends Error {
  override readonly name = 'ConflictError';
  /** The name of the change that failed. */
  readonly change: string;

  constructor(change: string) {
    super(`conflict in ${change}`);
    this.change = change;
  }
}

/**
 * Thrown by reads and commits while the database cannot be reached, does not answer or cannot be written. A commit may still have happened.
 */
export class StoreAwayError extends Error {
  override readonly name = 'StoreAwayError';
}

/** A page of a list: `limit` items after `offset`, newest first. With `after`, only items older than the one with this id. */
export interface PageQuery {
  readonly offset: number;
  readonly limit: number;
  readonly after?: string;
}

/** The items of a page, and the number of items in the whole list. */
export interface PageOf<T> {
  readonly items: readonly T[];
  readonly total: number;
  /** Counting stopped at `total`, because a long list costs too much to count; the list has more items. Absent: `total` is exact. */
  readonly hasMore?: true;
}

/** The facts that decide whether a transaction can be removed. */
export interface OldTransaction {
  readonly id: string;
  /** The transaction's ordinal among its relayer's, in order of acceptance and without gaps. */
  readonly place: number;
  /** When it became final; null: it is open. */
  readonly endedAtMs: number | null;
  /** An open transaction has an attempt in one of its slots, and must outbid this one's attempts there. */
  readonly sharesSlot: boolean;
}

/** A transaction that may still change, with all its attempts, oldest first. */
export interface OpenTransaction {
  readonly transaction: Transaction;
  readonly attempts: readonly Attempt[];
}

/** A transaction as its last change left it. */
export interface ChangedTransaction {
  readonly view: TransactionView;
  /** Its place in the order of acceptance. */
  readonly place: number;
  /** The position of its last change among those of its relayer; they become visible in this order. */
  readonly position: number;
}

/** A transaction as operators see it in its lane, with its newest attempts and the mined one, oldest first. */
export interface LaneTransaction extends Pick<Transaction, 'id' | 'status' | 'statusReason' | 'createdAtMs' | 'nonce'> {
  /** The version of the mined attempt; null: none is known to be mined. */
  readonly minedVersion: number | null;
  /** The newest ones that were asked for, and the mined one. Without call data, and with an empty `raw`. */
  readonly attempts: readonly Attempt[];
}

/** The open transactions of a relayer. */
export interface OpenOfRelayer {
  /** The number of those that are not signed. */
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

/** That a transaction has changed. */
export type ChangeSummary = Pick<Transaction, 'id' | 'revision' | 'status'> & Pick<ChangedTransaction, 'position'>;

/** How far the changes of a relayer's transactions have come. */
export interface ChangePositions {
  /** The position of the last change; 0: none. */
  readonly last: number;
  /** The highest position of a removed transaction; 0: none was removed. */
  readonly removedThrough: number;
}

/** An entry that the configuration file wrote, and its revision then. At another revision, the API has changed it since. */
export interface FileEntry {
  readonly kind: 'notification';
  readonly id: string;
  readonly revision: number;
}

/** The API's definition of a relayer, signer or network. It overrides the configuration file's entry with the same id. */
export interface Definition {
  readonly kind: 'relayer' | 'signer' | 'network' | 'pinned_key';
  readonly id: string;
  /** Plain data without secrets, in the form of its kind; null: the API deleted the file's entry. */
  readonly content: object | null;
  /** Its secrets, sealed for the purpose `<kind>:<id>`; null: none. */
  readonly sealed: string | null;
}

/** A notification with pending events, each of them the oldest of its order key. */
export interface PendingTarget {
  readonly notificationId: string;
  /** True if an event is due now. */
  readonly isDue: boolean;
  /** When the next of the others is due; undefined: there is none. */
  readonly nextAtMs: number | undefined;
}

/** How a transaction's row is written. */
export interface TransactionUpdate {
  /** The revision that must be stored now. Absent: one less than the new one. */
  readonly revisionBefore?: number;
  /** When the transaction became final, if the new status is final; the first time counts. Absent: its `updatedAtMs`. */
  readonly endedAtMs?: number;
}

/** Builders of changes. They are pure; nothing happens before `commit`. */
export interface Changes {
  /** Fails if the id is taken, or if the relayer is closed. */
  insertTransaction(transaction: Transaction): Change;
  /** Writes `next`; fails unless the stored revision is the one before it, see `TransactionUpdate`. A final status never changes. */
  updateTransaction(next: Transaction, update?: TransactionUpdate): Change;
  /**
   * Removes a final transaction with its attempts and its finished deliveries; fails if it is open or gone. The same commit must close the
   * gap in the places, see `moveTransaction`.
   */
  removeTransaction(id: string): Change;
  /** Gives a transaction another place in its relayer's list; fails if it is not at `from`, or if `to` is taken. */
  moveTransaction(id: string, from: number, to: number): Change;
  /** Fails if the slot or the transaction has an attempt with this version; for an unsequenced one, also if its hash is taken. */
  insertAttempt(attempt: Attempt): Change;
  /** Inserts the lane's row if it is missing; never fails. */
  openLane(lane: LaneId, nextNonce: bigint): Change;
  /** Sets the lane's next nonce; fails if it is not `from`. */
  moveLane(lane: LaneId, from: bigint, to: bigint): Change;
  /** Gives the database another id, so that earlier resume tokens are refused; never fails. */
  replaceDatabaseId(id: string): Change;
  /** Stores a confirmed time, see `AgeClock`; never fails. */
  confirmTime(timeMs: number): Change;
  /** Stores the chain's genesis block; fails if another one is stored. */
  insertChain(chain: string, genesisHash: string): Change;
  insertEvent(event: OutboxEvent): Change;
  /**
   * Writes an event's status, attempts and next attempt; fails if it is gone, or if its stored number of attempts is not `attemptsBefore` (null or
   * absent: any).
   */
  updateEvent(event: Pick<OutboxEvent, 'id' | 'status' | 'attempts' | 'nextAttemptAtMs'>, attemptsBefore?: number | null): Change;
  /** Makes an event of any status pending, with a fresh retry schedule and its old place in its order key; fails if it is gone. */
  redeliverEvent(event: Pick<OutboxEvent, 'id' | 'notificationId' | 'nextAttemptAtMs'>): Change;
  /** Stores a delivery attempt, and keeps the latest 20 of its event. */
  insertDeliveryAttempt(eventId: string, attempt: DeliveryAttempt): Change;
  /** Deletes an event and its delivery attempts unless it is pending; never fails. */
  deleteFinishedEvent(id: string): Change;
  /** Fails if the id is taken. */
  insertNotification(notification: Notification): Change;
  /** Writes `next`; fails unless its revision is one more than the stored one. */
  updateNotification(next: Notification): Change;
  /** Writes the sealed URL and signing keys and keeps the revision; fails if the stored revision differs. */
  resealNotification(notification: Pick<Notification, 'id' | 'revision' | 'url' | 'sealedSigningKey' | 'retiredKeys'>): Change;
  /** Sets `goneAtMs` unless the stored revision differs; never fails. */
  markNotificationGone(notification: Pick<Notification, 'id' | 'revision'>, goneAtMs: number): Change;
  /** Stores a response, in place of one with the same key that has expired at `nowMs`; fails if the key has another response. */
  putStoredResponse(response: StoredResponse, nowMs: number): Change;
  /** Stores the sealed secret of the database; fails if it has one. */
  insertDatabaseSecret(sealed: string): Change;
  /** Writes the secret sealed again; fails if there is none. */
  resealDatabaseSecret(sealed: string): Change;
  /** Deletes up to `limit` stored responses that have expired at `nowMs`, oldest first; never fails. */
  deleteExpiredStoredResponses(nowMs: number, limit: number): Change;
  /** Fails if the id is taken. */
  insertApiKey(key: ApiKey): Change;
  /** Fails if it is gone. */
  deleteApiKey(id: string): Change;
  /** Refuses transactions of a deleted relayer from then on, also those that another instance still accepts; fails if one of its transactions is open. */
  closeRelayer(id: string): Change;
  /** Allows transactions of a relayer with the id of a deleted one; never fails. */
  reopenRelayer(id: string): Change;
  /** Counts a change of the definitions, in the commit that makes it; fails unless `from` is the version before it. */
  moveDefinitions(from: number): Change;
  /** Writes a definition in place of one of the same kind and id, keeping its place in the list; never fails. */
  putDefinition(definition: Definition): Change;
  /** Never fails. */
  deleteDefinition(definition: Pick<Definition, 'kind' | 'id'>): Change;
  /** Stores the revision that the configuration file last wrote; never fails. */
  putFileEntry(entry: FileEntry): Change;
  /** Deletes the record that the configuration file wrote it; never fails. */
  deleteFileEntry(entry: Pick<FileEntry, 'kind' | 'id'>): Change;
  /** Deletes a notification and its pending events; fails if the stored revision differs. */
  deleteNotification(notification: Pick<Notification, 'id' | 'revision'>): Change;
}

/** Queries. They see committed rows only. */
export interface Reads {
  transaction(id: string): Promise<TransactionView | undefined>;
  /** Newest first by acceptance; no statuses: all. */
  transactionsOf(relayerId: string, statuses: readonly TransactionStatus[], page: PageQuery): Promise<PageOf<TransactionView>>;
  /** All attempts of a transaction, oldest first. */
  attemptsOf(transactionId: string): Promise<readonly Attempt[]>;
  /** Every attempt ever signed for a slot, oldest first; `mined`: the one by which a transaction of ours became final there. */
  slot(lane: LaneId, nonce: bigint): Promise<{ readonly versions: readonly Attempt[]; readonly mined: Attempt | null }>;
  /** The transaction that has this nonce now; undefined if none has. */
  transactionIdAt(lane: LaneId, nonce: bigint): Promise<string | undefined>;
  /** The unsequenced transaction that has an attempt with this hash; undefined if none has. */
  transactionIdOf(chain: string, hash: string): Promise<string | undefined>;
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
  /** All open transactions of a lane without their content, oldest first by acceptance. */
  openSummaries(lane: LaneId): Promise<readonly Pick<Transaction, 'id' | 'relayerId' | 'status' | 'intent' | 'revision'>[]>;
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
  /** A random id that a restore changes. */
  databaseId(): Promise<string>;
  /** The confirmed time that was stored last; null if none is stored. */
  confirmedTimeMs(): Promise<number | null>;
  /**
   * The open transactions of these relayers, by relayer; one without any is missing. The cost grows with the number of open transactions, of which
   * a relayer may have 12,000 and more.
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
  /** Lanes that have open transactions. */
  openLanes(): Promise<readonly LaneId[]>;
  /** The lane's next nonce; undefined before its first. */
  nextNonce(lane: LaneId): Promise<bigint | undefined>;
  /** The chain's genesis block, if it is stored. */
  genesisHash(chain: string): Promise<string | undefined>;
  notification(id: string): Promise<Notification | undefined>;
  /** The response stored under this key, unless it has expired at `nowMs`. */
  storedResponse(key: StoredResponseKey, nowMs: number): Promise<StoredResponse | undefined>;
  /** The earliest expiry among all stored responses, past or future; undefined if there is none. */
  firstStoredResponseExpiryMs(): Promise<number | undefined>;
  /** The sealed secret of the database; undefined before its first start. */
  databaseSecret(): Promise<string | undefined>;
  /** All API keys, newest first. */
  apiKeys(): Promise<readonly ApiKey[]>;
  /** How often the API has changed definitions. */
  definitionsVersion(): Promise<number>;
  /** In the order in which they were first written. */
  definitions(kind: Definition['kind']): Promise<readonly Definition[]>;
  /** The entries that the configuration file wrote. */
  fileEntries(kind: FileEntry['kind']): Promise<readonly FileEntry[]>;
  notifications(page: PageQuery): Promise<PageOf<Notification>>;
  /** The notifications with pending events. Its cost depends on the number of notifications, not on their backlogs. */
  pendingTargets(nowMs: number): Promise<readonly PendingTarget[]>;
  /** A notification's events due at `nowMs`, longest due first; at most one per order key, and none behind an older pending one. */
  dueEvents(notificationId: string, nowMs: number, limit: number): Promise<readonly OutboxEvent[]>;
  /** The number of pending events, counted up to `limit`. */
  pendingEventCount(limit: number): Promise<number>;
  /** Undefined also if the event belongs to another notification. */
  delivery(notificationId: string, eventId: string): Promise<DeliveryRecord | undefined>;
  /** Newest first. `transactionId`: only the events of this transaction. */
  deliveries(notificationId: string, page: PageQuery, transactionId?: string): Promise<PageOf<DeliveryRecord>>;
  /** Ids of events that were delivered or given up before this time, oldest end first. */
  finishedEventIds(beforeMs: number, limit: number): Promise<readonly string[]>;
}

/** The database. */
export interface Store {
  readonly change: Changes;
  readonly read: Reads;
  /** All or nothing; durable when it resolves. Throws `ConflictError` or `StoreAwayError`; any other error means that the store is broken. */
  commit(changes: readonly Change[]): Promise<void>;
  /** Resolves if the store can be read and written, throws if not, or if the last commits failed. */
  checkWorking(): Promise<void>;
  close(): Promise<void>;
}
