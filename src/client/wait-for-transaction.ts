import { type Client, Code, ConnectError } from '@connectrpc/connect';
import { type Transaction, TransactionStatus } from '../../gen/relayer/v1/transaction_pb.js';
import type { TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';
import { delay, delayMsAfter, isRetryable } from './retries.js';

/** The service sends a heartbeat after 20 seconds. After this time without a message the connection is dead. */
const silenceMs = 45_000;

/** Names a transaction. A record is one too. */
export interface TransactionReference {
  readonly id: string;
  readonly relayerId: string;
}

/** The options of `waitFor`. */
export interface WaitOptions {
  /** The first status that ends the wait. Final ones always do. Default: `CONFIRMED`. */
  readonly until?: TransactionStatus.SUBMITTED | TransactionStatus.MINED | TransactionStatus.CONFIRMED;
  /** Called with the record as it is now, and after each change. */
  readonly onChange?: (transaction: Transaction) => void;
  /** Ends the wait. For a time limit: `AbortSignal.timeout(60_000)`. */
  readonly signal?: AbortSignal;
}

/** Watches the transaction until it has a status that ends the wait, through lost connections. Returns its record. */
export async function waitForTransaction(
  transactions: Client<typeof TransactionService>,
  { id, relayerId }: TransactionReference,
  { until = TransactionStatus.CONFIRMED, onChange, signal }: WaitOptions = {},
): Promise<Transaction> {
  let revision = -1n;
  for (let failures = 0; ; failures++) {
    const watch = new AbortController();
    const abort = (): void => watch.abort(signal?.reason);
    signal?.throwIfAborted();
    signal?.addEventListener('abort', abort, { once: true });
    const endAfterSilence = (): ReturnType<typeof setTimeout> => setTimeout(() => watch.abort(), silenceMs);
    let silence = endAfterSilence();
    try {
      for await (const { event } of transactions.watchTransactions({ relayerId, transactionId: id }, { signal: watch.signal })) {
        clearTimeout(silence);
        silence = endAfterSilence();
        failures = 0;
        if (event.case !== 'transaction') continue;
        // A new watch begins with the record, which may be known.
        if (event.value.revision > revision) onChange?.(event.value);
        revision = event.value.revision;
        if (event.value.status >= until) return event.value;
      }
      throw new ConnectError('the watch ended before the transaction did', Code.Unavailable);
    } catch (reason) {
      signal?.throwIfAborted();
      const error = ConnectError.from(reason);
      if (!watch.signal.aborted && !isRetryable(error)) throw error;
      clearTimeout(silence);
      await delay(delayMsAfter(error, failures), signal);
    } finally {
      clearTimeout(silence);
      signal?.removeEventListener('abort', abort);
      // Ends the stream if the wait is over.
      watch.abort();
    }
  }
}
