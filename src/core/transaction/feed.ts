import { DomainError } from '../errors.js';
import type { TransactionView } from './transaction.js';

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
