import type { Kysely } from 'kysely';
import type { DatabaseIdTable, Schema } from '../schema.js';
import { pick, statement } from '../statement.js';

/** Statements on the row with the id of the database. */
export function databaseIdStatements(db: Kysely<Schema>) {
  return {
    /** Keeps the id that is stored. */
    insertIfMissing: statement<DatabaseIdTable, never>('database_ids_insert_if_missing', (values) =>
      db
        .insertInto('database_ids')
        .values(pick(values, ['number', 'id']))
        .onConflict((conflict) => conflict.column('number').doNothing()),
    ),

    replace: statement<DatabaseIdTable, never>('database_ids_replace', (values) =>
      db.updateTable('database_ids').set({ id: values.id }).where('number', '=', values.number),
    ),

    id: statement<Pick<DatabaseIdTable, 'number'>, Pick<DatabaseIdTable, 'id'>>('database_ids_id', (values) =>
      db.selectFrom('database_ids').select('id').where('number', '=', values.number),
    ),
  };
}
