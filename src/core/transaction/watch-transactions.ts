import type { Reads } from '../ports/store.js';
import { laneOf, type Relayer } from '../relayer/relayer.js';
import type { Feed } from './feed.js';
import { findTransaction } from './find-transaction.js';
import { isFinal, type TransactionView } from './transaction.js';
import { viewOf } from './transaction-changes.js';

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
