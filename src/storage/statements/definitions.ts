import type { Kysely } from 'kysely';
import { type DefinitionRow, definitionColumns } from '../rows/definition-row.js';
import type { Schema } from '../schema.js';
import { pick, statement } from '../statement.js';

/** Statements on what the API made of relayers, signers and networks. */
export function definitionStatements(db: Kysely<Schema>) {
  return {
    put: statement<DefinitionRow, never>('definitions_put', (values) =>
      db
        .insertInto('definitions')
        .values(pick(values, definitionColumns))
        .onConflict((conflict) =>
          conflict
            .columns(['kind', 'id'])
            .doUpdateSet((eb) => ({ content: eb.ref('excluded.content'), sealed: eb.ref('excluded.sealed') })),
        ),
    ),

    delete: statement<Pick<DefinitionRow, 'kind' | 'id'>, never>('definitions_delete', (values) =>
      db.deleteFrom('definitions').where('kind', '=', values.kind).where('id', '=', values.id),
    ),

    /** All at once: operators make them by hand, so they are few. */
    ofKind: statement<Pick<DefinitionRow, 'kind'>, DefinitionRow>('definitions_of_kind', (values) =>
      db.selectFrom('definitions').select(definitionColumns).where('kind', '=', values.kind).orderBy('seq'),
    ),
  };
}
