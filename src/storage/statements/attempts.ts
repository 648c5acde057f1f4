import { type Kysely, sql } from 'kysely';
import { finalStatuses } from '../../core/transaction/transaction.js';
import { type AttemptRow, attemptColumns } from '../rows/attempt-row.js';
import type { Schema } from '../schema.js';
import { pick, statement } from '../statement.js';

interface SlotQuery {
  readonly chain: string;
  readonly account: string;
  readonly nonce: string;
}

/** Statements on attempts. */
export function attemptStatements(db: Kysely<Schema>) {
  return {
    insert: statement<AttemptRow, never>('attempts_insert', (values) => db.insertInto('attempts').values(pick(values, attemptColumns))),

    ofTransaction: statement<{ transaction_id: string }, AttemptRow>('attempts_of_transaction', (values) =>
      db.selectFrom('attempts').select(attemptColumns).where('transaction_id', '=', values.transaction_id).orderBy('version'),
    ),

    inSlot: statement<SlotQuery, AttemptRow>('attempts_in_slot', (values) =>
      db
        .selectFrom('attempts')
        .select(attemptColumns)
        .where('chain', '=', values.chain)
        .where('account', '=', values.account)
        .where('nonce', '=', values.nonce)
        .orderBy('version'),
    ),

    /** The transaction of a version that stands alone. */
    ownerOfHash: statement<{ chain: string; hash: string }, { transaction_id: string }>('attempts_owner_of_hash', (values) =>
      db
        .selectFrom('attempts')
        .select('transaction_id')
        .where('chain', '=', values.chain)
        .where('hash', '=', values.hash)
        .whereRef('nonce', '=', 'transaction_id'),
    ),

    deleteOf: statement<{ transaction_id: string }, never>('attempts_delete_of', (values) =>
      db.deleteFrom('attempts').where('transaction_id', '=', values.transaction_id),
    ),

    /** The transaction that has a slot now. */
    ownerOfSlot: statement<SlotQuery, { id: string }>('attempts_owner_of_slot', (values) =>
      db
        .selectFrom('attempts')
        .innerJoin('transactions', 'transactions.id', 'attempts.transaction_id')
        .select('transactions.id')
        .where('attempts.chain', '=', values.chain)
        .where('attempts.account', '=', values.account)
        .where('attempts.nonce', '=', values.nonce)
        .whereRef('transactions.nonce', '=', 'attempts.nonce')
        .orderBy('attempts.version', 'desc')
        .limit(sql.lit(1)),
    ),

    /** The versions of a slot that made a transaction final there. */
    finalInSlot: statement<SlotQuery, { version: number }>('attempts_final_in_slot', (values) =>
      db
        .selectFrom('attempts')
        .innerJoin('transactions', 'transactions.id', 'attempts.transaction_id')
        .select('attempts.version')
        .where('attempts.chain', '=', values.chain)
        .where('attempts.account', '=', values.account)
        .where('attempts.nonce', '=', values.nonce)
        .whereRef('transactions.mined_version', '=', 'attempts.version')
        .whereRef('transactions.nonce', '=', 'attempts.nonce')
        .where('transactions.status', 'in', [...finalStatuses]),
    ),
  };
}
