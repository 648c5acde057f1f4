import { sql } from 'kysely';
import type { Dialect } from '../sql/dialect.js';
import type { DatabaseIdTable } from '../sql/schema.js';
import { pick, statement } from '../sql/statement.js';

type DatabaseId = Pick<DatabaseIdTable, 'number' | 'id'>;
type Version = Pick<DatabaseIdTable, 'number' | 'definitions_version'>;

/** Statements on the database itself: the row with its id and the version of its definitions, and its clock. */
export function databaseIdStatements({ builder: db, timeMs }: Pick<Dialect, 'builder' | 'timeMs'>) {
  return {
    /** Keeps the row that is stored. */
    insertIfMissing: statement<DatabaseId, never>('database_ids_insert_if_missing', (values) =>
      db
        .insertInto('database_ids')
        .values({ ...pick(values, ['number', 'id']), definitions_version: sql.lit(0) })
        .onConflict((conflict) => conflict.column('number').doNothing()),
    ),

    replace: statement<DatabaseId, never>('database_ids_replace', (values) =>
      db.updateTable('database_ids').set({ id: values.id }).where('number', '=', values.number),
    ),

    id: statement<Pick<DatabaseIdTable, 'number'>, Pick<DatabaseIdTable, 'id'>>('database_ids_id', (values) =>
      db.selectFrom('database_ids').select('id').where('number', '=', values.number),
    ),

    time: statement<object, { time_ms: number }>('database_ids_time', () => db.selectNoFrom(timeMs.as('time_ms'))),

    /** Affects the row unless the definitions were changed since they had this version. */
    moveDefinitions: statement<Version, never>('database_ids_move_definitions', (values) =>
      db
        .updateTable('database_ids')
        .set((eb) => ({ definitions_version: eb('definitions_version', '+', sql.lit(1)) }))
        .where('number', '=', values.number)
        .where('definitions_version', '=', values.definitions_version),
    ),

    definitionsVersion: statement<Pick<Version, 'number'>, Pick<Version, 'definitions_version'>>(
      'database_ids_definitions_version',
      (values) => db.selectFrom('database_ids').select('definitions_version').where('number', '=', values.number),
    ),
  };
}
