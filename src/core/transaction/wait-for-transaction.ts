import { isFinal, type TransactionStatus, type TransactionView } from '../records/transaction.js';
import { onAbort } from '../work/abort.js';
import { findTransaction } from './find-transaction.js';
import { loaderOf, type WatchDeps } from './watch-transactions.js';

/** What a caller waits for. A final status always ends a wait. */
export type WaitUntil = 'submitted' | 'mined' | 'final';

/** The dependencies of waits. */
export interface WaitDeps {
  readonly read: WatchDeps['read'];
  readonly feed: WatchDeps['feed'];
}

/** A wait for a transaction. */
export interface Wait {
  readonly relayerId: string;
  readonly transactionId: string;
  readonly until: WaitUntil;
  readonly timeoutMs: number;
}

/** Another process may change the transaction without a word, so a waiter looks again after this. */
const lookAgainMs = 20_000;

const reachedIn: Readonly<Record<WaitUntil, readonly TransactionStatus[]>> = {
  submitted: ['submitted', 'mined'],
  mined: ['mined'],
  final: [],
};

/** True if a wait for this ends with the status. */
export function isReached(until: WaitUntil, status: TransactionStatus): boolean {
  return isFinal(status) || reachedIn[until].includes(status);
}

/**
 * Returns the transaction as soon as it has reached a state, else as it is when the time is over or a signal aborts. Throws 404.
 */
export async function waitForTransaction(
  { read, feed }: WaitDeps,
  { relayerId, transactionId, until, timeoutMs }: Wait,
  signals: readonly AbortSignal[],
): Promise<TransactionView> {
  const endsAtMs = performance.now() + timeoutMs;
  let view = await findTransaction(read, relayerId, transactionId);
  if (isReached(until, view.transaction.status) || timeoutMs <= 0) return view;
  const topic = { relayerId, transactionId };
  const subscription = feed.subscribe(topic, loaderOf(read, topic));
  const leaves = signals.map((signal) => onAbort(signal, () => subscription.close()));
  try {
    for (let position = 0; ; ) {
      for (const changed of await subscription.next(position)) {
        position = changed.position;
        view = changed.view;
      }
      const leftMs = endsAtMs - performance.now();
      if (isReached(until, view.transaction.status) || leftMs <= 0) return view;
      if ((await subscription.wait(Math.min(leftMs, lookAgainMs))) === 'closed') return view;
    }
  } finally {
    for (const leave of leaves) leave();
    subscription.close();
  }
}
