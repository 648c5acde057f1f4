import type { ApiKey } from '../access/api-key.js';
import type { StoredResponse, StoredResponseKey } from '../access/stored-response.js';
import type { DeliveryAttempt, DeliveryRecord, Notification, OutboxEvent } from '../notification/notification.js';
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

/** What decides when a transaction can be removed. */
export interface OldTransaction {
  readonly id: string;
  /** Counts the transactions of its relayer without gaps, upwards by acceptance. */
  readonly place: number;
  /** When it became final; null: it is not. */
  readonly endedAtMs: number | null;
  /** A transaction that is open has a version in a slot of this one's, and must outbid what this one has there. */
  readonly sharesSlot: boolean;
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

/**
 * What the API made of a relayer, a signer or a network, whether the configuration file has it or not. It stands in place of the file's entry, which
 * is followed only while there is no definition of its id.
 */
export interface Definition {
  readonly kind: 'relayer' | 'signer' | 'network';
  readonly id: string;
  /** Plain data without secrets, as its kind has it; null: the API deleted what the file has. */
  readonly content: object | null;
  /** What is secret of it, sealed for the purpose `<kind>:<id>`; null: nothing. */
  readonly sealed: string | null;
}

/** A notification that has events to be delivered, each of them the oldest of its order key. */
export interface PendingTarget {
  readonly notificationId: string;
  /** Some of them are due. */
  readonly isDue: boolean;
  /** When the next of those that are not due will be; undefined: there is none. */
  readonly nextAtMs: number | undefined;
}

/** What can be written. Every builder is pure; nothing happens before `commit`. */
export interface Changes {
  /** Fails where the id is taken. */
  insertTransaction(transaction: Transaction): Change;
  /** Writes `next`, whose revision must be one more than the stored one; fails where it is not. */
  updateTransaction(next: Transaction): Change;
  /** Remembers when a transaction became final; in the commit that made it so. Never fails. */
  endTransaction(id: string, endedAtMs: number): Change;
  /**
   * Removes a final transaction with its attempts and those of its deliveries that are done; fails where it is open or gone. Places must be closed up
   * in the same commit, see `moveTransaction`.
   */
  removeTransaction(id: string): Change;
  /** Gives a transaction another place in its relayer's list; fails where it is not at `from`, or another is at `to`. */
  moveTransaction(id: string, from: number, to: number): Change;
  /** Fails where the slot already has this version, or the transaction has; where it stands alone, also where another one has its hash. */
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
  /** Makes an event of any status pending, in its old place among those of its order key, as if it had not been tried; fails where it is gone. */
  redeliverEvent(event: Pick<OutboxEvent, 'id' | 'notificationId' | 'nextAttemptAtMs'>): Change;
  /** Keeps a try of an event, and of the tries before it the latest; at most 20 together. */
  insertDeliveryAttempt(eventId: string, attempt: DeliveryAttempt): Change;
  /** Deletes an event and its tries if it is not pending; never fails. */
  deleteFinishedEvent(id: string): Change;
  /** Fails where the id is taken. */
  insertNotification(notification: Notification): Change;
  /** Writes `next`, whose revision must be one more than the stored one; fails where it is not. */
  updateNotification(next: Notification): Change;
  /** Writes its signing keys as they are sealed now, and leaves its revision; fails where that is another. */
  resealNotification(notification: Pick<Notification, 'id' | 'revision' | 'sealedSigningKey' | 'retiredKeys'>): Change;
  /** Sets `goneAtMs` unless the notification has moved on to another revision; never fails. */
  markNotificationGone(notification: Pick<Notification, 'id' | 'revision'>, goneAtMs: number): Change;
  /** Keeps an outcome, in place of whatever is stored under its key; never fails. */
  putStoredResponse(outcome: StoredResponse): Change;
  /** Makes the fingerprints of all outcomes `forgottenFingerprint`; never fails. */
  forgetFingerprints(): Change;
  /** Deletes the outcomes that have expired at `nowMs`, the oldest first, `limit` at most; never fails. */
  deleteExpiredStoredResponses(nowMs: number, limit: number): Change;
  /** Fails where the id is taken. */
  insertApiKey(key: ApiKey): Change;
  /** Fails where it is gone. */
  deleteApiKey(id: string): Change;
  /** Writes it in place of another of its kind and id, keeping its place among them; never fails. */
  putDefinition(definition: Definition): Change;
  /** Never fails. */
  deleteDefinition(definition: Pick<Definition, 'kind' | 'id'>): Change;
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
  /** The transaction that stands alone and has a version with this hash; undefined when none has. */
  transactionIdOf(chain: string, hash: string): Promise<string | undefined>;
  /** Ids of relayers that have finished transactions. */
  relayersWithFinished(): Promise<readonly string[]>;
  /** The oldest of a relayer, oldest first by acceptance. */
  oldestTransactions(relayerId: string, limit: number): Promise<readonly OldTransaction[]>;
  /** Of one lane, oldest first by acceptance. */
  openTransactions(lane: LaneId): Promise<readonly OpenTransaction[]>;
  /** Lanes that have open transactions. */
  openLanes(): Promise<readonly LaneId[]>;
  /** The lane's next nonce; undefined before the first. */
  nextNonce(lane: LaneId): Promise<bigint | undefined>;
  /** The chain's genesis block, when one is remembered. */
  genesisHash(chain: string): Promise<string | undefined>;
  notification(id: string): Promise<Notification | undefined>;
  /** The outcome under this key, unless it has expired at `nowMs`. */
  outcome(key: StoredResponseKey, nowMs: number): Promise<StoredResponse | undefined>;
  /** When the first of all outcomes expires, or did; undefined where there is none. */
  firstStoredResponseExpiryMs(): Promise<number | undefined>;
  /** All of them, newest first. */
  apiKeys(): Promise<readonly ApiKey[]>;
  /** In the order in which they were first written. */
  definitions(kind: Definition['kind']): Promise<readonly Definition[]>;
  /** What the configuration file wrote. */
  fileEntries(kind: FileEntry['kind']): Promise<readonly FileEntry[]>;
  notifications(page: PageQuery): Promise<PageOf<Notification>>;
  /** Who has something to be delivered. Costs per notification, whatever their backlogs are. */
  pendingTargets(nowMs: number): Promise<readonly PendingTarget[]>;
  /** Events of one notification that are due at `nowMs`, due longest first; at most one per order key, none that has an older pending one. */
  dueEvents(notificationId: string, nowMs: number, limit: number): Promise<readonly OutboxEvent[]>;
  /** How many events are pending, counted up to `limit`. */
  pendingEventCount(limit: number): Promise<number>;
  /** Undefined also where the event is another notification's. */
  delivery(notificationId: string, eventId: string): Promise<DeliveryRecord | undefined>;
  deliveries(notificationId: string, page: PageQuery): Promise<PageOf<DeliveryRecord>>;
  /** Ids of events that were delivered or given up before this time, the first to be so first. */
  finishedEventIds(beforeMs: number, limit: number): Promise<readonly string[]>;
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
