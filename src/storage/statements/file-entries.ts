import type { Kysely } from 'kysely';
import type { FileEntry } from '../../core/ports/store.js';
import type { Schema } from '../schema.js';
import { pick, statement } from '../statement.js';

/** Statements on what the configuration file wrote. */
export function fileEntryStatements(db: Kysely<Schema>) {
  return {
    put: statement<FileEntry, never>('file_entries_put', (values) =>
      db
        .insertInto('file_entries')
        .values(pick(values, ['kind', 'id', 'revision']))
        .onConflict((conflict) => conflict.columns(['kind', 'id']).doUpdateSet((eb) => ({ revision: eb.ref('excluded.revision') }))),
    ),

    delete: statement<Pick<FileEntry, 'kind' | 'id'>, never>('file_entries_delete', (values) =>
      db.deleteFrom('file_entries').where('kind', '=', values.kind).where('id', '=', values.id),
    ),

    ofKind: statement<Pick<FileEntry, 'kind'>, FileEntry>('file_entries_of_kind', (values) =>
      db.selectFrom('file_entries').select(['kind', 'id', 'revision']).where('kind', '=', values.kind).orderBy('id'),
    ),
  };
}
