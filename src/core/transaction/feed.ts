import { DomainError } from '../errors.js';
import type { Reads } from '../ports/store.js';
import { laneOf, type Relayer } from '../relayer/relayer.js';
import { findTransaction } from './find-transaction.js';
import { isFinal, type TransactionView } from './transaction.js';
import { viewOf } from './transaction-changes.js';

/** One reader's view of the feed. */
export interface Subscription {
  /** Resolves to the next change; undefined once `close` was called. Throws `READER_TOO_SLOW` when the reader was dropped. */
  next(): Promise<TransactionView | undefined>;
  close(): void;
}

/** Tells readers in this process of every change of a transaction, after its commit. */
export interface Feed {
  publish(view: TransactionView): void;
  /** From now on, the changes that `wants` wants. */
  subscribe(wants: (view: TransactionView) => boolean): Subscription;
}

/** So many changes wait for a reader; one that falls further behind is dropped. */
const greatestBacklog = 1_000;

/** Makes a feed without readers. */
export function createFeed(): Feed {
  const readers = new Set<(view: TransactionView) => void>();
  return {
    publish(view) {
      for (const tell of readers) tell(view);
    },
    subscribe(wants) {
      let backlog: TransactionView[] = [];
      let isDropped = false;
      let isClosed = false;
      let wake: (() => void) | null = null;

      function tell(view: TransactionView): void {
        if (!wants(view)) return;
        if (backlog.length >= greatestBacklog) {
          isDropped = true;
          backlog = [];
          readers.delete(tell);
        } else {
          backlog.push(view);
        }
        wake?.();
      }
      readers.add(tell);

      return {
        async next() {
          for (;;) {
            if (isDropped) {
              throw new DomainError(
                'rate_limited',
                'READER_TOO_SLOW',
                `the reader fell more than ${greatestBacklog} changes behind; watch again`,
              );
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
          readers.delete(tell);
          wake?.();
        },
      };
    },
  };
}

/**
 * Yields a transaction as it is (`transactionId`), then each of its changes, until it is final; or all of a relayer's transactions that are not final, then every change of
 * any. Ends when `signal` aborts. Throws 404, and `READER_TOO_SLOW` when its reader is.
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
    // Changes that come while this is read are in both: the revision tells which are old.
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
