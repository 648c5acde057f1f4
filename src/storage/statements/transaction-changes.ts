import type { Kysely } from 'kysely';
import type { LaneId } from '../../core/records/transaction.js';
import type { Schema, TransactionTable } from '../sql/schema.js';
import { statement } from '../sql/statement.js';
import { isOpen, type TransactionViewRow, transactionViews } from './transaction-rows.js';

/** A transaction with its attempt, its place in the order of acceptance and the position of its last change. */
export type ChangedTransactionRow = TransactionViewRow & { readonly seq: number; readonly position: number };

/** Statements on the changes that watches read. */
export function transactionChangeStatements(db: Kysely<Schema>) {
  const changedViews = () => transactionViews(db).select(['transactions.seq', 'transactions.position']);

  return {
    /** A relayer's transactions that changed after a position, in the order of their last changes. */
    changedAfter: statement<{ relayer_id: string; after: number; limit: number }, ChangedTransactionRow>(
      'transactions_changed_after',
      (values) =>
        changedViews()
          .where('transactions.relayer_id', '=', values.relayer_id)
          .where('transactions.position', '>', values.after)
          .orderBy('transactions.position')
          .limit(values.limit),
    ),

    /** The same without their content. */
    summariesAfter: statement<
      { relayer_id: string; after: number; limit: number },
      Pick<TransactionTable, 'id' | 'revision' | 'status' | 'position'>
    >('transactions_summaries_after', (values) =>
      db
        .selectFrom('transactions')
        .select(['id', 'revision', 'status', 'position'])
        .where('relayer_id', '=', values.relayer_id)
        .where('position', '>', values.after)
        .orderBy('position')
        .limit(values.limit),
    ),

    /** One transaction, if it changed after a position. */
    oneChangedAfter: statement<{ id: string; after: number }, ChangedTransactionRow>('transactions_one_changed_after', (values) =>
      changedViews().where('transactions.id', '=', values.id).where('transactions.position', '>', values.after),
    ),

    /** A relayer's open transactions that have not changed after a position, oldest first by acceptance. */
    openUnchanged: statement<LaneId & { relayer_id: string; after_seq: number; up_to: number; limit: number }, ChangedTransactionRow>(
      'transactions_open_unchanged',
      (values) =>
        changedViews()
          .where('transactions.chain', '=', values.chain)
          .where('transactions.account', '=', values.account)
          .where(isOpen())
          .where('transactions.relayer_id', '=', values.relayer_id)
          .where('transactions.seq', '>', values.after_seq)
          .where('transactions.position', '<=', values.up_to)
          .orderBy('transactions.seq')
          .limit(values.limit),
    ),
  };
}
