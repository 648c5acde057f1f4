import type { ChangedTransaction } from '../ports/store/feed.js';
import type { TransactionView } from '../records/transaction.js';
import { createWaker, type WaitEnd } from '../work/waker.js';

/** The transactions that a reader follows: all of a relayer, or one. */
export interface Topic {
  readonly relayerId: string;
  /** Null: all. */
  readonly transactionId: string | null;
}

/** Reads the next changes of a topic after a position from the store, in order. */
export type LoadChanges = (after: number) => Promise<readonly ChangedTransaction[]>;

/** A reader's subscription to a topic. It holds no changes: a slow reader finds them in the store. */
export interface Subscription {
  /** Returns the next changes after a position. Readers that ask for the same ones share one read, and get the same objects. */
  next(after: number): Promise<readonly ChangedTransaction[]>;
  /** Resolves when something may have changed since the last `next`, when the time is over, or after `close`. */
  wait(timeoutMs: number): Promise<WaitEnd>;
  close(): void;
}

/** Wakes the readers in this process when transactions change. The changes themselves are in the store. */
export interface Feed {
  /** Wakes the readers of a transaction; after the commit of its change. */
  publish(view: TransactionView): void;
  /** Wakes the readers of these relayers' transactions, which other instances have changed; `all`: all readers. */
  changedElsewhere(relayers: ReadonlySet<string> | 'all'): void;
  /** `load` reads the topic; all subscriptions to a topic must read the same. */
  subscribe(topic: Topic, load: LoadChanges): Subscription;
}

/** The readers of a topic, and the changes that they read last. */
interface Readers {
  readonly relayerId: string;
  readonly wakers: Set<() => void>;
  shared: { readonly after: number; readonly changes: Promise<readonly ChangedTransaction[]> } | null;
}

/** Creates a feed without readers. */
export function createFeed(): Feed {
  const topics = new Map<string, Readers>();

  function wakeAll(readers: Readers | undefined): void {
    if (readers === undefined) return;
    readers.shared = null;
    for (const wake of readers.wakers) wake();
  }

  return {
    publish({ transaction: { relayerId, id } }) {
      // Most changes have no reader, and need no keys then.
      if (topics.size === 0) return;
      for (const transactionId of [null, id]) wakeAll(topics.get(keyOf({ relayerId, transactionId })));
    },
    changedElsewhere(relayers) {
      for (const readers of topics.values()) if (relayers === 'all' || relayers.has(readers.relayerId)) wakeAll(readers);
    },
    subscribe(topic, load) {
      const key = keyOf(topic);
      const readers: Readers = topics.get(key) ?? { relayerId: topic.relayerId, wakers: new Set(), shared: null };
      topics.set(key, readers);
      const waker = createWaker();
      waker.wake();
      readers.wakers.add(waker.wake);

      return {
        next(after) {
          // A change that is published from here on may be missing in what is read, so it must end the next wait.
          waker.heed();
          if (readers.shared?.after === after) return readers.shared.changes;
          const shared = { after, changes: load(after) };
          readers.shared = shared;
          shared.changes.catch(() => {
            if (readers.shared === shared) readers.shared = null;
          });
          return shared.changes;
        },
        async wait(timeoutMs) {
          const end = await waker.wait(timeoutMs);
          // After a silence the reader looks again: another process, or a commit whose answer was lost, publishes nothing.
          if (end === 'timeout') readers.shared = null;
          return end;
        },
        close() {
          readers.wakers.delete(waker.wake);
          if (readers.wakers.size === 0 && topics.get(key) === readers) topics.delete(key);
          waker.close();
        },
      };
    },
  };
}

function keyOf({ relayerId, transactionId }: Topic): string {
  return JSON.stringify([relayerId, transactionId]);
}
