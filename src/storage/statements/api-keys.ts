import type { Kysely } from 'kysely';
import { type ApiKeyRow, apiKeyColumns } from '../rows/api-key-row.js';
import type { Schema } from '../schema.js';
import { pick, statement } from '../statement.js';

/** Statements on the keys that callers present. */
export function apiKeyStatements(db: Kysely<Schema>) {
  return {
    insert: statement<ApiKeyRow, never>('api_keys_insert', (values) => db.insertInto('api_keys').values(pick(values, apiKeyColumns))),

    delete: statement<{ id: string }, never>('api_keys_delete', (values) => db.deleteFrom('api_keys').where('id', '=', values.id)),

    /** All at once: operators make them by hand, so they are few. */
    all: statement<object, ApiKeyRow>('api_keys_all', () => db.selectFrom('api_keys').select(apiKeyColumns).orderBy('seq', 'desc')),
  };
}
