import type { Kysely } from 'kysely';
import { type AttemptRow, attemptColumns } from '../rows/attempt-row.js';
import type { Schema } from '../schema.js';
import { pick, statement } from '../statement.js';

/** Statements on attempts. */
export function attemptStatements(db: Kysely<Schema>) {
  return {
    insert: statement<AttemptRow, never>('attempts_insert', (values) => db.insertInto('attempts').values(pick(values, attemptColumns))),

    ofTransaction: statement<{ transaction_id: string }, AttemptRow>('attempts_of_transaction', (values) =>
      db.selectFrom('attempts').select(attemptColumns).where('transaction_id', '=', values.transaction_id).orderBy('version'),
    ),
  };
}
