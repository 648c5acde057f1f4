import type { Kysely } from 'kysely';
import type { Schema } from '../sql/schema.js';
import { pick, statement } from '../sql/statement.js';

interface SecretRow {
  readonly number: number;
  readonly sealed: string;
}

/** Statements on the row with the database's secret. */
export function databaseSecretStatements(db: Kysely<Schema>) {
  return {
    insert: statement<SecretRow, never>('database_secret_insert', (values) =>
      db.insertInto('database_secret').values(pick(values, ['number', 'sealed'])),
    ),

    reseal: statement<SecretRow, never>('database_secret_reseal', (values) =>
      db
        .updateTable('database_secret')
        .set(pick(values, ['sealed']))
        .where('number', '=', values.number),
    ),

    sealed: statement<Pick<SecretRow, 'number'>, Pick<SecretRow, 'sealed'>>('database_secret_sealed', (values) =>
      db.selectFrom('database_secret').select('sealed').where('number', '=', values.number),
    ),
  };
}
