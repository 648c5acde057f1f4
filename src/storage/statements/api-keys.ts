import type { Kysely, Selectable } from 'kysely';
import type { ApiKeyChanges, ApiKeyReads } from '../../core/ports/store/api-keys.js';
import type { ApiKey } from '../../core/records/api-key.js';
import { BoundChange, guarded, step } from '../sql/bound-change.js';
import { json, recordMapping } from '../sql/record-mapping.js';
import type { ApiKeyTable, Schema } from '../sql/schema.js';
import { pick, type Query, statement } from '../sql/statement.js';

type ApiKeyRow = Omit<Selectable<ApiKeyTable>, 'seq'>;

/** How API keys are stored. */
const apiKeyMapping = recordMapping<ApiKey, ApiKeyRow>({
  id: 'id',
  name: 'name',
  scopes: json('scopes'),
  relayerIds: json('relayer_ids'),
  digest: 'digest',
  createdAtMs: 'created_at_ms',
  expiresAtMs: 'expires_at_ms',
  createdBy: 'created_by',
  allowedAddresses: {
    column: 'allowed_addresses',
    write: (value) => JSON.stringify(value),
    read: (stored: string | null) => (stored === null ? [] : JSON.parse(stored)),
  },
  lastUsedAtMs: 'last_used_at_ms',
});

/** Statements on API keys. */
export function apiKeyStatements(db: Kysely<Schema>) {
  const { columns } = apiKeyMapping;
  return {
    insert: statement<ApiKeyRow, never>('api_keys_insert', (values) => db.insertInto('api_keys').values(pick(values, columns))),

    hold: statement<{ id: string }, never>('api_keys_hold', (values) =>
      db
        .updateTable('api_keys')
        .set((eb) => ({ name: eb.ref('name') }))
        .where('id', '=', values.id),
    ),

    use: statement<{ id: string; last_used_at_ms: number }, never>('api_keys_use', (values) =>
      db
        .updateTable('api_keys')
        .set({ last_used_at_ms: values.last_used_at_ms })
        .where('id', '=', values.id)
        .where((eb) => eb.or([eb('last_used_at_ms', 'is', null), eb('last_used_at_ms', '<', values.last_used_at_ms)])),
    ),

    delete: statement<{ id: string }, never>('api_keys_delete', (values) => db.deleteFrom('api_keys').where('id', '=', values.id)),

    /** Reads all at once: operators make API keys by hand, so they are few. */
    all: statement<object, ApiKeyRow>('api_keys_all', () => db.selectFrom('api_keys').select(columns).orderBy('seq', 'desc')),
  };
}

type Statements = ReturnType<typeof apiKeyStatements>;

/** Queries of API keys. */
export function apiKeyReads(statements: Statements, query: Query): ApiKeyReads {
  return {
    apiKeys: async () => (await query(statements.all, {})).map(apiKeyMapping.fromRow),
  };
}

/** Changes of API keys. */
export function apiKeyChanges(statements: Statements): ApiKeyChanges {
  return {
    insertApiKey: (key) => new BoundChange('insertApiKey', [guarded(statements.insert, apiKeyMapping.toRow(key))]),
    holdApiKey: (id) => new BoundChange('holdApiKey', [guarded(statements.hold, { id })]),
    noteApiKeyUse: (id, usedAtMs) => new BoundChange('noteApiKeyUse', [step(statements.use, { id, last_used_at_ms: usedAtMs })]),
    deleteApiKey: (id) => new BoundChange('deleteApiKey', [guarded(statements.delete, { id })]),
  };
}
