import type { StoredResponse, StoredResponseKey } from '../../records/stored-response.js';
import type { Change } from './change.js';

/**
 * Returns the changes that store the response to a call, to commit together with the call's effect; empty if the call has no idempotency
 * key. `result` is what the use case is about to return.
 */
export type SaveResponse<T> = (result: T) => readonly Change[];

/** Builders of changes of stored responses. */
export interface StoredResponseChanges {
  /** Stores a response, in place of one with the same key that has expired at `nowMs`; fails if the key has another response. */
  putStoredResponse(response: StoredResponse, nowMs: number): Change;
  /** Deletes up to `limit` stored responses that have expired at `nowMs`, oldest first; never fails. */
  deleteExpiredStoredResponses(nowMs: number, limit: number): Change;
}

/** Queries of stored responses. */
export interface StoredResponseReads {
  /** The response stored under this key, unless it has expired at `nowMs`. */
  storedResponse(key: StoredResponseKey, nowMs: number): Promise<StoredResponse | undefined>;
  /** The earliest expiry among all stored responses, past or future; undefined if there is none. */
  firstStoredResponseExpiryMs(): Promise<number | undefined>;
}
