import type { ApiKeyChanges, ApiKeyReads } from './api-keys.js';
import type { AttemptChanges, AttemptReads } from './attempts.js';
import type { AuditLineChanges, AuditLineReads } from './audit-lines.js';
import type { Change } from './change.js';
import type { DatabaseChanges, DatabaseReads } from './database.js';
import type { DefinitionChanges, DefinitionReads } from './definitions.js';
import type { FeedReads } from './feed.js';
import type { LaneViewReads } from './lane-views.js';
import type { LaneChanges, LaneReads } from './lanes.js';
import type { NotificationChanges, NotificationReads } from './notifications.js';
import type { OutboxChanges, OutboxReads } from './outbox.js';
import type { SpendingChanges, SpendingReads } from './spending.js';
import type { StoredResponseChanges, StoredResponseReads } from './stored-responses.js';
import type { TransactionChanges, TransactionListReads, TransactionReads } from './transactions.js';

/** Builders of all changes. They are pure; nothing happens before `commit`. */
export interface Changes
  extends TransactionChanges,
    AttemptChanges,
    LaneChanges,
    OutboxChanges,
    NotificationChanges,
    StoredResponseChanges,
    ApiKeyChanges,
    SpendingChanges,
    AuditLineChanges,
    DefinitionChanges,
    DatabaseChanges {}

/** Returns true if one of the builders of these names made one of the changes. */
export function hasChange(changes: readonly Change[], ...names: readonly (keyof Changes)[]): boolean {
  const wanted: ReadonlySet<string> = new Set(names);
  return changes.some(({ name }) => wanted.has(name));
}

/** All queries. They see committed rows only. */
export interface Reads
  extends TransactionReads,
    TransactionListReads,
    AttemptReads,
    FeedReads,
    LaneViewReads,
    LaneReads,
    OutboxReads,
    NotificationReads,
    StoredResponseReads,
    ApiKeyReads,
    SpendingReads,
    AuditLineReads,
    DefinitionReads,
    DatabaseReads {}

/** The database as one user of it needs it. */
export interface StoreFor<R, C = unknown> {
  readonly read: R;
  readonly change: C;
  /**
   * All or nothing; durable when it resolves. Throws `ConflictError` or `StoreAwayError`; any other error means that the store is broken.
   */
  commit(changes: readonly Change[]): Promise<void>;
}

/** Reads of what is done outside of the store because of them. */
export interface DurableReads {
  /**
   * Reads, and if the result acts, commits on the same connection: another instance's commit can be seen before a standby has it, and a
   * promotion would lose it. Reads again if the connection was lost meanwhile. Throws `StoreAwayError`.
   */
  readDurable<T>(read: () => Promise<T>, acts: (result: T) => boolean): Promise<T>;
}

/** The whole database, for the composition. */
export interface Store extends DurableReads, StoreFor<Reads, Changes> {
  /** Resolves if the store can be read and written, throws if not, or if the last commits failed. */
  checkWorking(): Promise<void>;
  close(): Promise<void>;
}
