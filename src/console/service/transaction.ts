import { type ReadonlySignal, signal } from '@preact/signals';
import type { Transaction } from '../../../gen/relayer/v1/transaction_pb.js';
import { type Failure, failureOf } from '../model/failure.js';
import { isFinal } from '../model/timeline.js';
import { transactions } from './clients.js';
import { follow } from './streams.js';

/** A transaction that is kept up to date. */
export interface FollowedTransaction {
  /** The newest record. Null: none yet. */
  readonly transaction: ReadonlySignal<Transaction | null>;
  /** Why the service does not send it. Undefined: it does. */
  readonly failure: ReadonlySignal<Failure | undefined>;
  /** Takes in a record that another call returned. */
  readonly take: (record: Transaction | undefined) => void;
  readonly stop: () => void;
}

/** Keeps a transaction up to date until it is final. */
export function followTransaction(relayerId: string, transactionId: string): FollowedTransaction {
  const transaction = signal<Transaction | null>(null);
  const failure = signal<Failure | undefined>(undefined);
  const take = (record: Transaction | undefined) => {
    if (record !== undefined && record.revision >= (transaction.peek()?.revision ?? 0n)) transaction.value = record;
  };
  const stop = follow({
    open: (signal) => transactions.watchTransactions({ relayerId, transactionId }, { signal }),
    onMessage: ({ event }) => {
      if (event.case === 'transaction') take(event.value);
    },
    isDone: () => {
      const record = transaction.peek();
      return record !== null && isFinal(record.status);
    },
    onRefused: (error) => {
      failure.value = failureOf(error);
    },
  });
  return { transaction, failure, take, stop };
}
