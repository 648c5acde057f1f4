import type { TransactionReads } from '../ports/store/transactions.js';
import { isFinal, type TransactionStatus, type TransactionView } from '../records/transaction.js';
import { onAbort } from '../work/abort.js';
import type { Feed } from './feed.js';
import { findTransaction } from './find-transaction.js';

/** What a caller waits for. A final status always ends a wait. */
export type WaitUntil = 'submitted' | 'mined' | 'final';

/** The dependencies of waits. */
export interface WaitDeps {
  readonly read: TransactionReads;
  readonly feed: Feed;
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
 * Returns the transaction as soon as it has reached a state, else as it is when the time is over or a signal aborts. Throws 404. Holds no
 * record while it waits.
 */
export async function waitForTransaction(deps: WaitDeps, wait: Wait, signals: readonly AbortSignal[]): Promise<TransactionView> {
  const { relayerId, transactionId } = wait;
  const found = await findIfOver(deps, wait);
  if (found !== null) return found;
  await untilReached(deps, wait, signals);
  return findTransaction(deps.read, relayerId, transactionId);
}

async function findIfOver({ read }: WaitDeps, { relayerId, transactionId, until, timeoutMs }: Wait): Promise<TransactionView | null> {
  const view = await findTransaction(read, relayerId, transactionId);
  return isReached(until, view.transaction.status) || timeoutMs <= 0 ? view : null;
}

async function untilReached(
  { read, feed }: WaitDeps,
  { relayerId, transactionId, until, timeoutMs }: Wait,
  signals: readonly AbortSignal[],
): Promise<void> {
  const endsAtMs = performance.now() + timeoutMs;
  const subscription = feed.subscribe({ relayerId, transactionId, reads: 'statuses' }, async () => {
    const view = await read.transaction(transactionId);
    return view === undefined ? [] : [view.transaction.status];
  });
  const leaves = signals.map((signal) => onAbort(signal, () => subscription.close()));
  try {
    for (;;) {
      const [status] = await subscription.next(0);
      const leftMs = endsAtMs - performance.now();
      if ((status !== undefined && isReached(until, status)) || leftMs <= 0) return;
      if ((await subscription.wait(Math.min(leftMs, lookAgainMs))) === 'closed') return;
    }
  } finally {
    for (const leave of leaves) leave();
    subscription.close();
  }
}
