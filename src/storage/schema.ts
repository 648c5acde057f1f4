import type { Generated } from 'kysely';
import type { DeliveryStatus, Notification, OutboxEvent } from '../core/notification/notification.js';
import type { Definition, FileEntry } from '../core/ports/store.js';
import type { Intent, TransactionStatus } from '../core/transaction/transaction.js';

/*
 * The tables as the code sees them; `migrations/` makes them. The same on every dialect: nonces, block numbers and whatever else may pass
 * 2^53 are decimal text, milliseconds and revisions are integers below it, flags are 0 or 1.
 */

/** Yes or no, as both dialects can store and compare it. */
export type Flag = 0 | 1;

/** A transaction. `ordinal` counts within its relayer without gaps, upwards by acceptance, so a page is found by its number: what is removed is closed up. */
export interface TransactionTable {
  seq: Generated<number>;
  ordinal: number;
  id: string;
  relayer_id: string;
  chain: string;
  account: string;
  status: TransactionStatus;
  status_reason: string | null;
  intent: Intent;
  /** Exact JSON, see `rows/exact-json.ts`. */
  content: string;
  /** Exact JSON. */
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
  sent_at_ms: number | null;
  confirmed_at_ms: number | null;
  valid_until_ms: number | null;
  /** `traceparent` of the span that accepted it. */
  trace_parent: string | null;
  /** Null until its status is final. */
  ended_at_ms: Generated<number | null>;
  revision: number;
}

/** How many transactions of a relayer ended in a final status; those in an open one are few and are counted. */
export interface TransactionTotalTable {
  relayer_id: string;
  status: TransactionStatus;
  total: number;
}

/** A signed version. */
export interface AttemptTable {
  seq: Generated<number>;
  transaction_id: string;
  version: number;
  chain: string;
  account: string;
  /** The slot in the account: the nonce, or of a transaction that stands alone its id. */
  nonce: string;
  purpose: Intent;
  hash: string;
  raw: string;
  /** Exact JSON, see `rows/exact-json.ts`. */
  fields: string;
  created_at_ms: number;
}

/** An account's queue. */
export interface LaneTable {
  chain: string;
  account: string;
  next_nonce: string;
}

/** A chain's first block, as it was first seen. */
export interface ChainTable {
  chain: string;
  genesis_hash: string;
}

/** A webhook target. */
export interface NotificationTable {
  seq: Generated<number>;
  id: string;
  type: Notification['type'];
  url: string;
  sealed_signing_key: string | null;
  /** JSON of `RetiredKey[]`. */
  retired_keys: string;
  gone_at_ms: number | null;
  created_at_ms: number;
  revision: number;
}

/** What the configuration file wrote, and at which revision. */
export interface FileEntryTable {
  kind: FileEntry['kind'];
  id: string;
  revision: number;
}

/**
 * The outbox. `waits_behind` is 1 for an event that has an older pending one of its order key before it, and is taken away when that one is
 * done: it keeps whole queues of waiting events out of the index of due ones.
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

/** A try to deliver an event; goes with its event. */
export interface DeliveryAttemptTable {
  seq: Generated<number>;
  event_id: string;
  attempted_at_ms: number;
  duration_ms: number;
  http_status: number | null;
  error: string | null;
  response_body: string | null;
}

/** What a call with an idempotency key came to. */
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

/** A key that callers present. */
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
}

/** What the API made of a relayer, a signer or a network. */
export interface DefinitionTable {
  seq: Generated<number>;
  kind: Definition['kind'];
  id: string;
  /** Exact JSON, see `rows/exact-json.ts`; null: deleted. */
  content: string | null;
  sealed: string | null;
}

/** One row, number 1: the process that holds the instance lock, or held it last. */
export interface InstanceTable {
  number: number;
  host: string;
  pid: number;
  since_ms: number;
  /** The last check that the store can be written. */
  checked_at_ms: number;
}

/** All tables by name. */
export interface Schema {
  transactions: TransactionTable;
  transaction_totals: TransactionTotalTable;
  attempts: AttemptTable;
  lanes: LaneTable;
  chains: ChainTable;
  notifications: NotificationTable;
  file_entries: FileEntryTable;
  events: EventTable;
  delivery_attempts: DeliveryAttemptTable;
  stored_responses: StoredResponseTable;
  api_keys: ApiKeyTable;
  definitions: DefinitionTable;
  instances: InstanceTable;
}
