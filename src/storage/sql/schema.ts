import type { Generated } from 'kysely';
import type { InstanceState } from '../../core/ports/instances.js';
import type { LeaseKind } from '../../core/ports/leases.js';
import type { Definition, FileEntry } from '../../core/records/definition.js';
import type { DeliveryStatus, Notification, OutboxEvent } from '../../core/records/notification.js';
import type { FailureReason, Intent, TransactionStatus } from '../../core/records/transaction.js';

/*
 * The tables that `migrations/` makes, the same in every dialect. Values that may exceed 2^53, such as nonces and block numbers, are
 * decimal text; milliseconds and revisions are integers below it; flags are 0 or 1. "Exact JSON" is the text of `exactJson`.
 */

/** A boolean that both dialects can store and compare. */
export type Flag = 0 | 1;

/**
 * A transaction. `ordinal` numbers the transactions of a relayer without gaps, in the order of acceptance, so the number of a page finds
 * its rows. Removing transactions closes the gaps.
 */
export interface TransactionTable {
  seq: Generated<number>;
  ordinal: number;
  id: string;
  relayer_id: string;
  chain: string;
  account: string;
  status: TransactionStatus;
  status_reason: string | null;
  failure_reason: FailureReason | null;
  intent: Intent;
  /** Exact JSON. */
  content: string;
  /** Exact JSON of a queued replacement. */
  queued: string | null;
  nonce: string | null;
  live_version: number | null;
  mined_version: number | null;
  mined_block_number: string | null;
  mined_block_hash: string | null;
  mined_succeeded: Flag | null;
  /** Exact JSON. */
  mined_facts: string | null;
  created_at_ms: number;
  updated_at_ms: number;
  sent_at_ms: number | null;
  confirmed_at_ms: number | null;
  valid_until_ms: number | null;
  /** `traceparent` of the span that accepted the transaction. */
  trace_parent: string | null;
  /** Exact JSON. */
  tags: string | null;
  /** Exact JSON. */
  delays: string | null;
  /** Exact JSON. */
  approval: string | null;
  /** The first receiver that the transaction was accepted with; null: it has none, or `TransactionReceiverTable` has it. Never changes. */
  receiver: Generated<string | null>;
  /** Null until the status is final. */
  ended_at_ms: Generated<number | null>;
  revision: number;
  /** The position of its last change among the changes of its relayer, see `ChangePositionTable`. */
  position: number;
}

/** A relayer among whose transactions changes have positions. A batch with such changes locks the row, and writes it only rarely. */
export interface ChangePositionTable {
  relayer_id: string;
  /** The positions of changes are above this one, and above the positions of stored transactions. */
  position: number;
  /** 1: the relayer is deleted, and no transaction can be inserted. */
  is_closed: Flag;
}

/**
 * One row, number 1: a random id of the database, and how often the API has changed definitions. Restoring a backup changes the id, because
 * positions then start again from the backup's.
 */
export interface DatabaseIdTable {
  number: number;
  id: string;
  definitions_version: number;
  /**
   * The server and the tables as they were created, see `currentOrigin`. A copy that was made of rows, such as a dump, has another one.
   * Null: not known, as on SQLite.
   */
  origin: string | null;
  /** When an instance found that the database lacks commits that it had answered; null: it lacks none, as far as is known. */
  rewound_at_ms: number | null;
  /** What shows it, for the operator. */
  rewind_evidence: string | null;
  /** All such evidence that an operator has accepted. */
  accepted_evidence: string | null;
}

/** The highest position of a removed transaction of a relayer: one row, which is found at the end of the index. */
export interface RemovedPositionTable {
  relayer_id: string;
  position: number;
}

/**
 * The number of a relayer's transactions in each final status: one row, with a version as in `LaneNonceTable`. Transactions in open
 * statuses are few, so reads count them.
 */
export interface FinishedTotalTable {
  relayer_id: string;
  status: TransactionStatus;
  version: number;
  total: number;
}

/** An id that a caller gave to a transaction. It stays when the transaction is removed, so that it never names another one. */
export interface ExternalIdTable {
  relayer_id: string;
  external_id: string;
  transaction_id: string;
}

/** A label of a transaction: `key:value`. */
export interface TransactionLabelTable {
  relayer_id: string;
  label: string;
  transaction_seq: number;
}

/** A receiver of a transaction that its `receiver` does not have. */
export interface TransactionReceiverTable {
  relayer_id: string;
  receiver: string;
  transaction_seq: number;
}

/** A signed version of a transaction. */
export interface AttemptTable {
  seq: Generated<number>;
  transaction_id: string;
  version: number;
  chain: string;
  account: string;
  /** The nonce, or the id of an unsequenced transaction, which has a slot of its own. */
  nonce: string;
  purpose: Intent;
  hash: string;
  raw: string;
  /** Exact JSON. */
  fields: string;
  created_at_ms: number;
}

/** The next nonce of an account: one row, whose version each change raises, so that it is found at the end of the index. */
export interface LaneNonceTable {
  chain: string;
  account: string;
  version: number;
  next_nonce: string;
}

/** A transaction that was signed for a caller, who can broadcast it at any time: rows are kept for ever. */
export interface CallerSignatureTable {
  hash: string;
  /** The transaction that failed because this one did the same; null: none. */
  transaction_id: string | null;
}

/** The genesis block of a chain when it was first seen. */
export interface ChainTable {
  chain: string;
  genesis_hash: string;
}

/** A webhook target. */
export interface NotificationTable {
  seq: Generated<number>;
  id: string;
  type: Notification['type'];
  /** Sealed. */
  url: string;
  sealed_signing_key: string | null;
  /** JSON of `RetiredKey[]`. */
  retired_keys: string;
  gone_at_ms: number | null;
  created_at_ms: number;
  revision: number;
  /** JSON of `string[]`; null: all. */
  relayer_ids: string | null;
}

/** A notification that the configuration file wrote, and its revision at that time. */
export interface FileEntryTable {
  kind: FileEntry['kind'];
  id: string;
  revision: number;
}

/**
 * The outbox. `waits_behind` is 1 while an older event of the same notification and order key is pending, which keeps waiting events out of
 * the index of due events.
 */
export interface EventTable {
  seq: Generated<number>;
  id: string;
  notification_id: string;
  event: OutboxEvent['event'];
  order_key: string;
  body: string;
  status: DeliveryStatus;
  attempts: number;
  next_attempt_at_ms: number;
  created_at_ms: number;
  trace_parent: string | null;
  waits_behind: Flag;
}

/** A delivery attempt; deleted with its event. */
export interface DeliveryAttemptTable {
  seq: Generated<number>;
  event_id: string;
  attempted_at_ms: number;
  duration_ms: number;
  http_status: number | null;
  error: string | null;
  response_body: string | null;
}

/** The response that an idempotency key replays. */
export interface StoredResponseTable {
  seq: Generated<number>;
  key_id: string;
  method: string;
  idempotency_key: string;
  fingerprint: string;
  /** Base64. */
  response: string;
  expires_at_ms: number;
}

/** An API key. */
export interface ApiKeyTable {
  seq: Generated<number>;
  id: string;
  name: string;
  /** JSON of `Scope[]`. */
  scopes: string;
  /** JSON of `string[]`. */
  relayer_ids: string;
  digest: string;
  created_at_ms: number;
  expires_at_ms: number | null;
  created_by: string | null;
  /** JSON of `string[]`; null: of an earlier version. */
  allowed_addresses: string | null;
  last_used_at_ms: number | null;
  /** JSON of `FormerSecret[]`; null: of an earlier version. */
  former_secrets: string | null;
  adopted_by: string | null;
}

/** A relayer, a signer or a network that the API wrote. */
export interface DefinitionTable {
  seq: Generated<number>;
  kind: Definition['kind'];
  id: string;
  /** Exact JSON; null if the API deleted it. */
  content: string | null;
  sealed: string | null;
}

/**
 * The processes that use the database. Number 1 is the last one that used it alone, as on SQLite every process does, or an empty row; each
 * other row is an instance that shares a PostgreSQL database with others. A process whose row is gone, or has another token, can commit
 * nothing more.
 */
export interface InstanceTable {
  number: number;
  host: string;
  pid: number;
  /** Random. Empty: the last process that used the database alone has released it. */
  token: string;
  since_ms: number;
  /** When a service last checked that it can write. */
  checked_at_ms: number;
  /** In row 1: the latest time that a service could confirm, see `AgeClock`; null before the first. */
  confirmed_time_ms: number | null;
  /** Of an instance that shares the database: its version, and JSON of a keyed hash of each configuration file. */
  version: string | null;
  config_hashes: string | null;
  /** See `ConfigFiles`. */
  config_revision: number | null;
  /** The server's process for its connection, and when that started, which together identify the connection. */
  backend_pid: number | null;
  backend_started: string | null;
  state: InstanceState | null;
  /** The timeline of the server when the instance connected to it: a promoted standby begins a new one. PostgreSQL only. */
  timeline: number | null;
  /** 1: its commits waited for a synchronous standby. */
  is_synchronous: number | null;
}

/**
 * An instance that another process removed. PostgreSQL only: an instance whose row is in neither table knows that the database went back.
 */
export interface RemovedInstanceTable {
  number: number;
  removed_at_ms: number;
}

/** Work that one instance does at a time. PostgreSQL only: with SQLite, the only process does all of it. */
export interface LeaseTable {
  kind: LeaseKind;
  /** The lane, the notification, or empty for housekeeping. */
  key: string;
  /** The number of the instance that does the work; null: none does. */
  holder: number | null;
  /** What the holder has to say to the other instances, such as why the relayer is disabled; null: nothing. */
  note: string | null;
}

/** One row, number 1: the sealed secret of the database. */
export interface DatabaseSecretTable {
  number: number;
  sealed: string;
}

/** The tables whose rows have a number from a sequence, `seq`, which is their primary key. */
export const sequencedTables = [
  'transactions',
  'attempts',
  'notifications',
  'events',
  'delivery_attempts',
  'stored_responses',
  'api_keys',
  'definitions',
] as const satisfies readonly (keyof Schema)[];

/** What counts against a limit of a relayer's rules in its window. */
export interface SpendWindowTable {
  relayer_id: string;
  name: string;
  version: string;
  /** JSON: see `StoredAmounts`. */
  amounts: string;
}

/** What a transaction has reserved against limits, until it has ended. */
export interface SpendReservationTable {
  transaction_id: string;
  /** JSON: see `StoredReservation`. */
  reserved: string;
}

/** A line of the audit log: a row for each transaction that it is about, at least one. */
export interface AuditLineTable {
  /** The id of the line, see `auditLineId`, and the number of the row. */
  id: string;
  key_id: string | null;
  relayer_id: string | null;
  transaction_id: string | null;
  method: string | null;
  /** Empty except in the first row. */
  line: string;
}

/** All tables by name. */
/**
 * The last batches that processes have written, on PostgreSQL: after a lost connection they show whether the batch without an answer was
 * written, and whether the database still has the last one.
 */
export interface BatchTable {
  /** Of the process. */
  number: number;
  /** Counts up. */
  batch: number;
}

export interface Schema {
  transactions: TransactionTable;
  change_positions: ChangePositionTable;
  removed_positions: RemovedPositionTable;
  finished_totals: FinishedTotalTable;
  external_ids: ExternalIdTable;
  transaction_labels: TransactionLabelTable;
  transaction_receivers: TransactionReceiverTable;
  attempts: AttemptTable;
  caller_signatures: CallerSignatureTable;
  lane_nonces: LaneNonceTable;
  chains: ChainTable;
  notifications: NotificationTable;
  file_entries: FileEntryTable;
  events: EventTable;
  delivery_attempts: DeliveryAttemptTable;
  stored_responses: StoredResponseTable;
  api_keys: ApiKeyTable;
  definitions: DefinitionTable;
  instances: InstanceTable;
  removed_instances: RemovedInstanceTable;
  batches: BatchTable;
  leases: LeaseTable;
  spend_windows: SpendWindowTable;
  spend_reservations: SpendReservationTable;
  audit_lines: AuditLineTable;
  database_secret: DatabaseSecretTable;
  database_ids: DatabaseIdTable;
}
