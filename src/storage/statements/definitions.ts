import type { Kysely, Selectable } from 'kysely';
import type { DefinitionChanges, DefinitionReads } from '../../core/ports/store/definitions.js';
import type { Definition, FileEntry } from '../../core/records/definition.js';
import { BoundChange, guarded, step } from '../sql/bound-change.js';
import { exactJson, recordMapping } from '../sql/record-mapping.js';
import type { DefinitionTable, Schema } from '../sql/schema.js';
import { pick, type Query, statement } from '../sql/statement.js';
import type { databaseIdStatements } from './database.js';

type DefinitionRow = Omit<Selectable<DefinitionTable>, 'seq'>;

/** How definitions are stored. */
const definitionMapping = recordMapping<Definition, DefinitionRow>({
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

interface Statements {
  readonly definitions: ReturnType<typeof definitionStatements>;
  readonly fileEntries: ReturnType<typeof fileEntryStatements>;
  readonly databaseIds: ReturnType<typeof databaseIdStatements>;
}

/** Queries of definitions and of the file's entries. */
export function definitionReads({ definitions, fileEntries, databaseIds }: Statements, query: Query): DefinitionReads {
  return {
    definitionsVersion: async () => (await query(databaseIds.definitionsVersion, { number: 1 }))[0]?.definitions_version ?? 0,
    definitions: async (kind) => (await query(definitions.ofKind, { kind })).map(definitionMapping.fromRow),
    fileEntries: (kind) => query(fileEntries.ofKind, { kind }),
  };
}

/** Changes of definitions and of the file's entries. */
export function definitionChanges({ definitions, fileEntries, databaseIds }: Statements): DefinitionChanges {
  return {
    moveDefinitions: (from) =>
      new BoundChange('moveDefinitions', [guarded(databaseIds.moveDefinitions, { number: 1, definitions_version: from })]),
    putDefinition: (definition) => new BoundChange('putDefinition', [step(definitions.put, definitionMapping.toRow(definition))]),
    deleteDefinition: ({ kind, id }) => new BoundChange('deleteDefinition', [step(definitions.delete, { kind, id })]),
    putFileEntry: ({ kind, id, revision }) => new BoundChange('putFileEntry', [step(fileEntries.put, { kind, id, revision })]),
    deleteFileEntry: ({ kind, id }) => new BoundChange('deleteFileEntry', [step(fileEntries.delete, { kind, id })]),
  };
}
