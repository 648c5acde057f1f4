import type { FeedReads } from '../ports/store/feed.js';
import type { TransactionView } from '../records/transaction.js';
import { createWaker, type WaitEnd } from '../work/waker.js';

/** What a reader follows. */
export interface Topic {
  readonly relayerId: string;
  /** Null: all transactions of the relayer. */
  readonly transactionId: string | null;
  /** What its readers read: whole records, or statuses only. */
  readonly reads: 'records' | 'statuses';
}

/** Reads the next changes of a topic after a position from the store, in order. */
export type LoadChanges<T> = (after: number) => Promise<readonly T[]>;

/** A reader's subscription to a topic. It holds no changes: a slow reader finds them in the store. */
export interface Subscription<T> {
  /** Returns the next changes after a position. Readers that ask for the same ones share one read, and get the same objects. */
  next(after: number): Promise<readonly T[]>;
  /** Resolves when something may have changed since the last `next`, when the time is over, or after `close`. */
  wait(timeoutMs: number): Promise<WaitEnd>;
  close(): void;
}

/** Wakes the readers in this process when transactions change. The changes themselves are in the store. */
export interface Feed {
  /** Wakes the readers of a transaction; after the commit of its change. */
  publish(view: TransactionView): void;
  /**
   * Wakes the readers of the transactions that other instances have changed. `relayers`: whose changes; `all`: the database is another one,
   * or was away.
   */
  changedElsewhere(relayers: ReadonlySet<string> | 'all'): void;
  /** `load` reads the topic; all subscriptions to a topic must read the same. */
  subscribe<T>(topic: Topic, load: LoadChanges<T>): Subscription<T>;
}

/** The readers of a topic, and the changes that they read last. */
interface Readers {
  readonly transactionId: string | null;
  readonly wakers: Set<() => void>;
  shared: { readonly after: number; readonly changes: Promise<readonly unknown[]> } | null;
}

/** The topics of a relayer. */
interface RelayerTopics {
  readonly topics: Map<string, Readers>;
  /** The position through which the readers of single transactions were woken for changes elsewhere; null: unknown. */
  position: number | null;
  isLooking: boolean;
  /** Another change was reported while the changes were read. */
  isDue: boolean;
}

/** With as many changes as this, it costs less to wake all readers. */
const maxChanges = 500;

/** Creates a feed without readers. */
export function createFeed(read: Pick<FeedReads, 'changePositions' | 'changesOfRelayer'>): Feed {
  const relayers = new Map<string, RelayerTopics>();

  /** Wakes the readers of single transactions that have changed: thousands may wait, and each that is woken reads its record. */
  async function wakeChanged(relayerId: string, of: RelayerTopics): Promise<void> {
    const after = of.position;
    const changes = after === null ? [] : await read.changesOfRelayer(relayerId, after, maxChanges);
    const isOverview = after === null || changes.length === maxChanges;
    // Read before the readers are woken, so that they see everything up to here.
    const position = isOverview ? (await read.changePositions(relayerId)).last : (changes.at(-1)?.position ?? after);
    if (of.position === after) of.position = position;
    if (isOverview) wakeSingle(of);
    else for (const { id } of changes) wakeTransaction(of, id);
  }

  async function look(relayerId: string, of: RelayerTopics): Promise<void> {
    of.isDue = true;
    if (of.isLooking) return;
    of.isLooking = true;
    while (of.isDue) {
      of.isDue = false;
      await wakeChanged(relayerId, of).catch(() => {
        of.position = null;
        wakeSingle(of);
      });
    }
    of.isLooking = false;
  }

  return {
    publish({ transaction: { relayerId, id } }) {
      const of = relayers.get(relayerId);
      // Most changes have no reader.
      if (of === undefined) return;
      wakeAll(of.topics.get(keyOf(null, 'records')));
      wakeTransaction(of, id);
    },
    changedElsewhere(changed) {
      for (const [relayerId, of] of relayers) {
        if (changed === 'all') {
          of.position = null;
          for (const readers of of.topics.values()) wakeAll(readers);
        } else if (changed.has(relayerId)) {
          const all = of.topics.get(keyOf(null, 'records'));
          wakeAll(all);
          if (of.topics.size > (all === undefined ? 0 : 1)) void look(relayerId, of);
        }
      }
    },
    subscribe<T>({ relayerId, transactionId, reads }: Topic, load: LoadChanges<T>): Subscription<T> {
      const of: RelayerTopics = relayers.get(relayerId) ?? { topics: new Map(), position: null, isLooking: false, isDue: false };
      relayers.set(relayerId, of);
      const key = keyOf(transactionId, reads);
      const readers: Readers = of.topics.get(key) ?? { transactionId, wakers: new Set(), shared: null };
      of.topics.set(key, readers);
      const waker = createWaker();
      waker.wake();
      readers.wakers.add(waker.wake);

      return {
        next(after) {
          // A change that is published from here on may be missing in what is read, so it must end the next wait.
          waker.heed();
          if (readers.shared?.after === after) return readers.shared.changes as Promise<readonly T[]>;
          const changes = load(after);
          const shared = { after, changes };
          readers.shared = shared;
          changes.catch(() => {
            if (readers.shared === shared) readers.shared = null;
          });
          return changes;
        },
        async wait(timeoutMs) {
          const end = await waker.wait(timeoutMs);
          // After a silence the reader looks again: another process, or a commit whose answer was lost, publishes nothing.
          if (end === 'timeout') readers.shared = null;
          return end;
        },
        close() {
          readers.wakers.delete(waker.wake);
          if (readers.wakers.size === 0 && of.topics.get(key) === readers) of.topics.delete(key);
          if (of.topics.size === 0 && relayers.get(relayerId) === of) relayers.delete(relayerId);
          waker.close();
        },
      };
    },
  };
}

function wakeAll(readers: Readers | undefined): void {
  if (readers === undefined) return;
  readers.shared = null;
  for (const wake of readers.wakers) wake();
}

function wakeSingle({ topics }: RelayerTopics): void {
  for (const readers of topics.values()) if (readers.transactionId !== null) wakeAll(readers);
}

function wakeTransaction({ topics }: RelayerTopics, transactionId: string): void {
  wakeAll(topics.get(keyOf(transactionId, 'records')));
  wakeAll(topics.get(keyOf(transactionId, 'statuses')));
}

function keyOf(transactionId: string | null, reads: Topic['reads']): string {
  return `${reads} ${transactionId ?? ''}`;
}
