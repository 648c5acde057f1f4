import type { DatabaseReads } from '../ports/store/database.js';
import type { ChangedTransaction, FeedReads } from '../ports/store/feed.js';
import type { TransactionReads } from '../ports/store/transactions.js';
import { laneOf, type Relayer } from '../records/relayer.js';
import { isFinal } from '../records/transaction.js';
import { onAbort } from '../work/abort.js';
import type { Feed, LoadChanges } from './feed.js';
import { findTransaction } from './find-transaction.js';
import { type Cursor, cursorOf, tokenExpired, tokenOf, type WatchScope } from './resume-token.js';

/** A message of a watch. `resumeToken` returns the text with which a later watch delivers everything that this one has not delivered. */
export type WatchMessage = { readonly resumeToken: () => string } & (
  | { readonly kind: 'transaction'; readonly changed: ChangedTransaction }
  | { readonly kind: 'snapshot_complete' }
  | { readonly kind: 'heartbeat' }
);

/** The parameters of a watch. */
export interface WatchRequest {
  readonly relayer: Relayer;
  /** Null: all transactions of the relayer. */
  readonly transactionId: string | null;
  /** The token of an earlier watch's message; null: from the present state on. */
  readonly resumeToken: string | null;
}

/** The dependencies of watches. */
export interface WatchDeps {
  readonly read: FeedReads & Pick<DatabaseReads, 'databaseId'> & TransactionReads;
  readonly feed: Feed;
  /** How long a watch may be silent. */
  readonly heartbeatMs: number;
}

/** Transactions read at a time. Even a slow reader holds no more than these. */
const pageSize = 20;

/**
 * Watches transactions until `signal` aborts.
 *
 * Without a token, the watch begins with a snapshot: the transaction, or the open ones of the relayer. With a token, it begins with
 * everything that changed since. Both end with `snapshot_complete` if a relayer is watched; then the changes follow. A watch of one
 * transaction ends when that is final.
 *
 * Each message has the latest state of a record, read from the store: a reader that is slower than the changes misses states in between,
 * but never the last one, and the revisions of a record only grow. Throws 404, and `precondition` RESUME_TOKEN_EXPIRED.
 */
export async function* watchTransactions(
  { read, feed, heartbeatMs }: WatchDeps,
  { relayer, transactionId, resumeToken }: WatchRequest,
  signal: AbortSignal,
): AsyncGenerator<WatchMessage, void, void> {
  const scope: WatchScope = { databaseId: await read.databaseId(), relayerId: relayer.id, transactionId };
  const found = transactionId === null ? null : await findTransaction(read, relayer.id, transactionId);
  const subscription = feed.subscribe({ relayerId: relayer.id, transactionId, reads: 'records' }, loaderOf(read, scope));
  const leave = onAbort(signal, () => subscription.close());

  const messageOf = (cursor: Cursor, changed: ChangedTransaction): WatchMessage => ({
    kind: 'transaction',
    changed,
    resumeToken: () => tokenOf(scope, cursor),
  });

  try {
    let cursor = await firstCursor(read, scope, resumeToken);
    while (cursor.snapshotPlace !== null) {
      const { position, snapshotPlace } = cursor;
      // A transaction that changes meanwhile comes with the changes.
      const page = await read.openUnchanged(relayer.id, laneOf(relayer), { afterPlace: snapshotPlace, upTo: position, limit: pageSize });
      for (const changed of page) {
        cursor = { position, snapshotPlace: changed.place };
        yield messageOf(cursor, changed);
        if (signal.aborted) return;
      }
      if (page.length < pageSize) cursor = { position, snapshotPlace: null };
    }

    let { position } = cursor;
    let last = found;
    let isUpToDate = false;
    let isSilent = true;
    for (;;) {
      const page = await subscription.next(position);
      for (const changed of page) {
        position = changed.position;
        last = changed.view;
        isSilent = false;
        yield messageOf({ position, snapshotPlace: null }, changed);
        if (signal.aborted) return;
      }
      if (page.length === pageSize) continue;
      if (transactionId !== null && last !== null && isFinal(last.transaction.status)) return;
      const reached = { position, snapshotPlace: null };
      const resumeToken = () => tokenOf(scope, reached);
      if (!isUpToDate) {
        isUpToDate = true;
        // The first message also carries the response headers, without which many clients do not return from the call.
        if (transactionId === null) yield { kind: 'snapshot_complete', resumeToken };
        else if (isSilent) yield { kind: 'heartbeat', resumeToken };
      }
      switch (await subscription.wait(heartbeatMs)) {
        case 'closed':
          return;
        case 'timeout':
          yield { kind: 'heartbeat', resumeToken };
          break;
        case 'woken':
      }
    }
  } finally {
    leave();
    subscription.close();
  }
}

/** The changes that a reader at a position gets next. Throws RESUME_TOKEN_EXPIRED if it missed one that was removed. */
function loaderOf(read: FeedReads, { relayerId, transactionId }: WatchScope): LoadChanges<ChangedTransaction> {
  return async (after: number): Promise<readonly ChangedTransaction[]> => {
    if (transactionId !== null) {
      const changed = await read.changeAfter(transactionId, after);
      return changed === undefined ? [] : [changed];
    }
    const page = await read.changesAfter(relayerId, after, pageSize);
    // Read after the page, so that a removal between the two reads is noticed.
    const { last, removedThrough } = await read.changePositions(relayerId);
    // Another server took over, which lacks the last commits: changes that follow use their positions again.
    if (last < after) throw tokenExpired('resume_token is from a later state of the database');
    if (removedThrough > after) throw tokenExpired('resume_token is too old: transactions that changed since were deleted');
    return page;
  };
}

async function firstCursor(read: FeedReads, scope: WatchScope, resumeToken: string | null): Promise<Cursor> {
  if (resumeToken === null && scope.transactionId !== null) return { position: 0, snapshotPlace: null };
  const { last } = await read.changePositions(scope.relayerId);
  if (resumeToken === null) return { position: last, snapshotPlace: 0 };
  const cursor = cursorOf(resumeToken, scope);
  if (cursor.position > last) throw tokenExpired('resume_token is from a later state of the database');
  return cursor;
}
