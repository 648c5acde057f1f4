import { type Kysely, type RawBuilder, type Selectable, sql } from 'kysely';
import type { Attempt, MinedAt, Transaction, TransactionView } from '../../core/records/transaction.js';
import { decimalText, exactJson, flag, recordMapping, template } from '../sql/record-mapping.js';
import type { Schema, TransactionTable } from '../sql/schema.js';
import { type AttemptRow, attemptColumns, attemptFromRow } from './attempts.js';

/** A row of the table, without the columns that are not part of a transaction. */
export type TransactionRow = Omit<Selectable<TransactionTable>, 'seq' | 'ordinal' | 'ended_at_ms' | 'position' | 'receiver'>;

/** What a statement that writes a row needs besides it. */
interface Writing {
  /** The revision that must be stored now; null: the row is new. */
  revision_before: number | null;
  /** Null: the transaction is open. */
  ended_at_ms: number | null;
}
const writingColumns = ['revision_before', 'ended_at_ms'] as const satisfies readonly (keyof Writing)[];

/** A row to write. */
export type WrittenRow = TransactionRow & Writing;
/** The columns of `MinedAt`, null together before the transaction is mined. */
const minedColumns = ['mined_version', 'mined_block_number', 'mined_block_hash', 'mined_succeeded', 'mined_facts'] as const;
type MinedRow = { readonly [C in (typeof minedColumns)[number]]: NonNullable<TransactionRow[C]> };

const mapping = recordMapping<Transaction, WrittenRow, Exclude<keyof Transaction, 'mined'>>(
  {
    id: 'id',
    relayerId: 'relayer_id',
    chain: 'chain',
    account: 'account',
    status: 'status',
    statusReason: 'status_reason',
    failureReason: 'failure_reason',
    intent: 'intent',
    content: exactJson('content'),
    queued: exactJson('queued'),
    nonce: decimalText('nonce'),
    liveVersion: 'live_version',
    createdAtMs: 'created_at_ms',
    updatedAtMs: 'updated_at_ms',
    sentAtMs: 'sent_at_ms',
    confirmedAtMs: 'confirmed_at_ms',
    validUntilMs: 'valid_until_ms',
    traceParent: 'trace_parent',
    tags: exactJson('tags'),
    delays: exactJson('delays'),
    approval: exactJson('approval'),
    revision: 'revision',
  },
  ['mined'],
  [...minedColumns, ...writingColumns],
);
const minedMapping = recordMapping<MinedAt, MinedRow>({
  version: 'mined_version',
  blockNumber: decimalText('mined_block_number'),
  blockHash: 'mined_block_hash',
  succeeded: flag('mined_succeeded'),
  facts: exactJson('mined_facts'),
});
/** The columns of a `TransactionRow`. */
export const transactionColumns = mapping.columns.filter(
  (column): column is keyof TransactionRow => !(writingColumns as readonly string[]).includes(column),
);

/** The columns of an attempt beside a transaction's in one row; all null if the transaction has none. */
type JoinedAttemptRow = { readonly [C in keyof AttemptRow as `attempt_${C}`]: AttemptRow[C] | null };

/** A transaction beside one of its attempts. */
export type TransactionViewRow = TransactionRow & JoinedAttemptRow;

/** Selects a transaction's columns beside those of other tables. */
export const transactionSelection = transactionColumns.map((column) => `transactions.${column}` as const);
const emptyAttempt = template(attemptColumns);
/** Selects an attempt's columns for a `TransactionViewRow`. */
export const attemptSelection = attemptColumns.map((column) => `attempts.${column} as attempt_${column}` as const);

/** The row that stores a transaction. */
export function rowFromTransaction(transaction: Transaction, revisionBefore: number | null, endedAtMs: number | null): WrittenRow {
  const row = mapping.toRow(transaction);
  row.revision_before = revisionBefore;
  row.ended_at_ms = endedAtMs;
  return transaction.mined === null ? row : Object.assign(row, minedMapping.toRow(transaction.mined));
}

/** The transaction that a row stores. */
export function transactionFromRow(row: TransactionRow): Transaction {
  const transaction = mapping.fromRow(row as WrittenRow);
  return row.mined_version === null ? transaction : Object.assign(transaction, { mined: minedMapping.fromRow(row as MinedRow) });
}

/** The attempt of a joined row; null if the transaction has none. */
export function attemptFromJoinedRow(row: JoinedAttemptRow): Attempt | null {
  if (row.attempt_transaction_id === null) return null;
  const attempt = { ...emptyAttempt };
  for (const column of attemptColumns) attempt[column] = row[`attempt_${column}`];
  return attemptFromRow(attempt as unknown as AttemptRow);
}

/**
 * True for a transaction that may still change: its row has no end. A database uses a partial index only if a statement repeats the index's
 * condition, and this one names no column that a change of an open transaction writes: otherwise each change would write the index again.
 */
export function isOpen(table = 'transactions'): RawBuilder<boolean> {
  return sql<boolean>`${sql.ref(`${table}.ended_at_ms`)} is null`;
}

/**
 * The same condition for a transaction that a statement finds by its id. The words of `isOpen` would also let PostgreSQL scan the whole
 * index of open transactions, which is short without and long beside an open snapshot.
 */
export function isOpenById(table = 'transactions'): RawBuilder<boolean> {
  return sql<boolean>`case when ${sql.ref(`${table}.ended_at_ms`)} is null then 1 else 0 end = 1`;
}

/** Transactions, each with the attempt that its record shows: the mined one, else the live one. */
export function transactionViews(db: Kysely<Schema>) {
  return db
    .selectFrom('transactions')
    .leftJoin('attempts', (join) =>
      join
        .onRef('attempts.transaction_id', '=', 'transactions.id')
        .on((eb) => eb('attempts.version', '=', eb.fn.coalesce('transactions.mined_version', 'transactions.live_version'))),
    )
    .select(transactionSelection)
    .select(attemptSelection);
}

/** The transaction and the attempt of a row of `transactionViews`. */
export function viewFromRow(row: TransactionViewRow): TransactionView {
  return { transaction: transactionFromRow(row), shown: attemptFromJoinedRow(row) };
}
