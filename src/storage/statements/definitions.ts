import type { Kysely, Selectable } from 'kysely';
import type { Definition, FileEntry } from '../../core/records/definition.js';
import { exactJson, recordMapping } from '../sql/record-mapping.js';
import type { DefinitionTable, Schema } from '../sql/schema.js';
import { pick, statement } from '../sql/statement.js';

type DefinitionRow = Omit<Selectable<DefinitionTable>, 'seq'>;

/** How definitions are stored. */
export const definitionMapping = recordMapping<Definition, DefinitionRow>({
  kind: 'kind',
  id: 'id',
  content: exactJson('content'),
  sealed: 'sealed',
});

/** Statements on the relayers, signers and networks that the API wrote. */
export function definitionStatements(db: Kysely<Schema>) {
  const { columns } = definitionMapping;
  return {
    put: statement<DefinitionRow, never>('definitions_put', (values) =>
      db
        .insertInto('definitions')
        .values(pick(values, columns))
        .onConflict((conflict) =>
          conflict
            .columns(['kind', 'id'])
            .doUpdateSet((eb) => ({ content: eb.ref('excluded.content'), sealed: eb.ref('excluded.sealed') })),
        ),
    ),

    delete: statement<Pick<DefinitionRow, 'kind' | 'id'>, never>('definitions_delete', (values) =>
      db.deleteFrom('definitions').where('kind', '=', values.kind).where('id', '=', values.id),
    ),

    /** Reads all at once: operators make definitions by hand, so they are few. */
    ofKind: statement<Pick<DefinitionRow, 'kind'>, DefinitionRow>('definitions_of_kind', (values) =>
      db.selectFrom('definitions').select(columns).where('kind', '=', values.kind).orderBy('seq'),
    ),
  };
}

/** Statements on the entries of the configuration file. */
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
