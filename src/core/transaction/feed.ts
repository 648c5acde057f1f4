import { DomainError } from '../errors.js';
import type { Reads } from '../ports/store.js';
import { laneOf, type Relayer } from '../relayer/relayer.js';
import { findTransaction } from './find-transaction.js';
import { isFinal, type TransactionView } from './transaction.js';
import { viewOf } from './transaction-changes.js';

/** A reader's subscription to the feed. */
export interface Subscription {
  /** Resolves to the next change; undefined after `close`. Throws `READER_TOO_SLOW` if the reader was dropped. */
  next(): Promise<TransactionView | undefined>;
  close(): void;
}

/** Publishes every change of a transaction to readers in this process, after its commit. */
export interface Feed {
  publish(view: TransactionView): void;
  /** Delivers the changes from now on that `wants` accepts. */
  subscribe(wants: (view: TransactionView) => boolean): Subscription;
}

/** The maximum number of changes that wait for a reader; one that falls further behind is dropped. */
const maxBacklog = 1_000;

/** Creates a feed without readers. */
export function createFeed(): Feed {
  const readers = new Set<(view: TransactionView) => void>();
  return {
    publish(view) {
      for (const deliver of readers) deliver(view);
    },
    subscribe(wants) {
      let backlog: TransactionView[] = [];
      let isDropped = false;
      let isClosed = false;
      let wake: (() => void) | null = null;

      function deliver(view: TransactionView): void {
        if (!wants(view)) return;
        if (backlog.length >= maxBacklog) {
          isDropped = true;
          backlog = [];
          readers.delete(deliver);
        } else {
          backlog.push(view);
        }
        wake?.();
      }
      readers.add(deliver);

      return {
        async next() {
          for (;;) {
            if (isDropped) {
              const sentence = `the watch is more than ${maxBacklog} changes behind; start a new watch`;
              throw new DomainError('rate_limited', 'READER_TOO_SLOW', sentence, { metadata: { limit: String(maxBacklog) } });
            }
            const view = backlog.shift();
            if (view !== undefined || isClosed) return view;
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
            wake = null;
          }
        },
        close() {
          isClosed = true;
          readers.delete(deliver);
          wake?.();
        },
      };
    },
  };
}

/**
 * With a `transactionId`, yields that transaction, then each of its changes until it is final. Without, yields the relayer's open transactions,
 * then every change of any. Ends when `signal` aborts. Throws 404, and `READER_TOO_SLOW` if its reader is.
 */
export async function* watchTransactions(
  { read, feed }: { readonly read: Reads; readonly feed: Feed },
  relayer: Relayer,
  transactionId: string | null,
  signal: AbortSignal,
): AsyncGenerator<TransactionView, void, void> {
  const subscription = feed.subscribe(
    ({ transaction }) => transaction.relayerId === relayer.id && (transactionId ?? transaction.id) === transaction.id,
  );
  const close = () => subscription.close();
  signal.addEventListener('abort', close, { once: true });
  if (signal.aborted) close();
  try {
    // Changes that arrive during this read come twice; the revision shows which are old.
    const seen = new Map<string, number>();
    const present =
      transactionId === null
        ? (await read.openTransactions(laneOf(relayer))).filter(({ transaction }) => transaction.relayerId === relayer.id).map(viewOf)
        : [await findTransaction(read, relayer.id, transactionId)];
    for (const view of present) {
      seen.set(view.transaction.id, view.transaction.revision);
      yield view;
      if (transactionId !== null && isFinal(view.transaction.status)) return;
    }
    for (let view = await subscription.next(); view !== undefined && !signal.aborted; view = await subscription.next()) {
      const { id, revision, status } = view.transaction;
      if (revision <= (seen.get(id) ?? 0)) continue;
      if (isFinal(status)) seen.delete(id);
      yield view;
      if (transactionId !== null && isFinal(status)) return;
    }
  } finally {
    signal.removeEventListener('abort', close);
    subscription.close();
  }
}
