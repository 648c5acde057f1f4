import type { Kysely, Selectable } from 'kysely';
import type { ApiKey } from '../../core/records/api-key.js';
import { json, recordMapping } from '../sql/record-mapping.js';
import type { ApiKeyTable, Schema } from '../sql/schema.js';
import { pick, statement } from '../sql/statement.js';

type ApiKeyRow = Omit<Selectable<ApiKeyTable>, 'seq'>;

/** How API keys are stored. */
export const apiKeyMapping = recordMapping<ApiKey, ApiKeyRow>({
  id: 'id',
  name: 'name',
  scopes: json('scopes'),
  relayerIds: json('relayer_ids'),
  digest: 'digest',
  createdAtMs: 'created_at_ms',
  expiresAtMs: 'expires_at_ms',
});

/** Statements on API keys. */
export function apiKeyStatements(db: Kysely<Schema>) {
  const { columns } = apiKeyMapping;
  return {
    insert: statement<ApiKeyRow, never>('api_keys_insert', (values) => db.insertInto('api_keys').values(pick(values, columns))),

    delete: statement<{ id: string }, never>('api_keys_delete', (values) => db.deleteFrom('api_keys').where('id', '=', values.id)),

    /** Reads all at once: operators make API keys by hand, so they are few. */
    all: statement<object, ApiKeyRow>('api_keys_all', () => db.selectFrom('api_keys').select(columns).orderBy('seq', 'desc')),
  };
}
