import type { Selectable } from 'kysely';
import type { Attempt, AttemptFields } from '../../core/transaction/transaction.js';
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

/** The same columns beside a transaction's, in one row of a left join. */
type RenamedAttemptRow = { readonly [K in keyof AttemptRow as `attempt_${K}`]: AttemptRow[K] };

/** Such columns where an attempt was joined, or null together where none was. */
export type JoinedAttemptRow = RenamedAttemptRow | { readonly [K in keyof RenamedAttemptRow]: null };

/** The row that stores an attempt. */
export function rowFromAttempt(attempt: Attempt): AttemptRow {
  return {
    transaction_id: attempt.transactionId,
    version: attempt.version,
    chain: attempt.chain,
    account: attempt.account,
    nonce: attempt.nonce?.toString() ?? attempt.transactionId,
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
    nonce: row.nonce === row.transaction_id ? null : BigInt(row.nonce),
    purpose: row.purpose,
    hash: row.hash,
    raw: row.raw,
    fields: valueFromExactJson<AttemptFields>(row.fields),
    createdAtMs: row.created_at_ms,
  };
}

/** The attempt of a joined row; null where none was joined. */
export function attemptFromJoinedRow(row: JoinedAttemptRow): Attempt | null {
  if (row.attempt_transaction_id === null) return null;
  return attemptFromRow({
    transaction_id: row.attempt_transaction_id,
    version: row.attempt_version,
    chain: row.attempt_chain,
    account: row.attempt_account,
    nonce: row.attempt_nonce,
    purpose: row.attempt_purpose,
    hash: row.attempt_hash,
    raw: row.attempt_raw,
    fields: row.attempt_fields,
    created_at_ms: row.attempt_created_at_ms,
  });
}
