import type { Selectable } from 'kysely';
import type { Attempt, EvmAttemptFields } from '../../core/transaction/transaction.js';
import type { AttemptTable } from '../schema.js';
import { exactJsonFrom, valueFromExactJson } from './exact-json.js';

/** An attempt's columns, without the one that the store gives it. */
export type AttemptRow = Omit<Selectable<AttemptTable>, 'seq'>;

/** The columns of a row, by name. */
export const attemptColumns = [
  'transaction_id',
  'version',
  'chain',
  'account',
  'nonce',
  'purpose',
  'hash',
  'raw',
  'fields',
  'created_at_ms',
] as const satisfies readonly (keyof AttemptRow)[];

/** The same columns beside a transaction's, in one row of a left join: null together where no attempt was joined. */
export type JoinedAttemptRow = { readonly [K in keyof AttemptRow as `attempt_${K}`]: AttemptRow[K] | null };

/** The row that stores an attempt. */
export function rowFromAttempt(attempt: Attempt): AttemptRow {
  return {
    transaction_id: attempt.transactionId,
    version: attempt.version,
    chain: attempt.chain,
    account: attempt.account,
    nonce: attempt.nonce.toString(),
    purpose: attempt.purpose,
    hash: attempt.hash,
    raw: attempt.raw,
    fields: exactJsonFrom(attempt.fields),
    created_at_ms: attempt.createdAtMs,
  };
}

/** The attempt that a row stores. */
export function attemptFromRow(row: AttemptRow): Attempt {
  return {
    transactionId: row.transaction_id,
    version: row.version,
    chain: row.chain,
    account: row.account,
    nonce: BigInt(row.nonce),
    purpose: row.purpose,
    hash: row.hash,
    raw: row.raw,
    fields: valueFromExactJson<EvmAttemptFields>(row.fields),
    createdAtMs: row.created_at_ms,
  };
}

/** The attempt of a joined row; null where none was joined. */
export function attemptFromJoinedRow(row: JoinedAttemptRow): Attempt | null {
  if (row.attempt_transaction_id === null) return null;
  const plain = Object.fromEntries(attemptColumns.map((column) => [column, row[`attempt_${column}`]]));
  return attemptFromRow(plain as unknown as AttemptRow);
}
