import { type Kysely, type Selectable, sql } from 'kysely';
import { bootstrapId } from '../../core/access/authenticate.js';
import type { ApiKeyChanges, ApiKeyReads } from '../../core/ports/store/api-keys.js';
import type { ApiKey } from '../../core/records/api-key.js';
import { BoundChange, guarded, step } from '../sql/bound-change.js';
import { json, recordMapping } from '../sql/record-mapping.js';
import type { ApiKeyTable, Schema } from '../sql/schema.js';
import { pick, type Query, statement } from '../sql/statement.js';

type ApiKeyRow = Omit<Selectable<ApiKeyTable>, 'seq'>;

/** Stores a list as JSON text; rows of earlier versions have null. */
function listOrNull<C extends string>(column: C) {
  return { ...json(column), read: (stored: string | null) => (stored === null ? [] : JSON.parse(stored)) };
}

/** The key that counts as the creator of a row's key. */
function creatorOf(table: string) {
  return sql<string | null>`coalesce(${sql.ref(`${table}.adopted_by`)}, ${sql.ref(`${table}.created_by`)})`;
}

/** How API keys are stored. */
const apiKeyMapping = recordMapping<ApiKey, ApiKeyRow>({
  id: 'id',
  name: 'name',
  scopes: json('scopes'),
  relayerIds: json('relayer_ids'),
  digest: 'digest',
  formerSecrets: listOrNull('former_secrets'),
  createdAtMs: 'created_at_ms',
  expiresAtMs: 'expires_at_ms',
  createdBy: 'created_by',
  adoptedBy: 'adopted_by',
  allowedAddresses: listOrNull('allowed_addresses'),
  lastUsedAtMs: 'last_used_at_ms',
});

/** Statements on API keys. */
export function apiKeyStatements(db: Kysely<Schema>) {
  const { columns } = apiKeyMapping;
  const same = () => db.updateTable('api_keys').set((eb) => ({ name: eb.ref('name') }));
  return {
    insert: statement<ApiKeyRow, never>('api_keys_insert', (values) => db.insertInto('api_keys').values(pick(values, columns))),

    lock: statement<{ id: string }, never>('api_keys_lock', (values) => same().where('id', '=', values.id)),

    hold: statement<{ id: string; digest: string }, never>('api_keys_hold', (values) =>
      same().where('id', '=', values.id).where('digest', '=', values.digest),
    ),

    use: statement<{ id: string; last_used_at_ms: number }, never>('api_keys_use', (values) =>
      db
        .updateTable('api_keys')
        .set({ last_used_at_ms: values.last_used_at_ms })
        .where('id', '=', values.id)
        .where((eb) => eb.or([eb('last_used_at_ms', 'is', null), eb('last_used_at_ms', '<', values.last_used_at_ms)])),
    ),

    setSecrets: statement<Pick<ApiKeyRow, 'id' | 'digest' | 'former_secrets'> & { replaced: string }, never>(
      'api_keys_set_secrets',
      (values) =>
        db
          .updateTable('api_keys')
          .set({ digest: values.digest, former_secrets: values.former_secrets })
          .where('id', '=', values.id)
          .where('digest', '=', values.replaced),
    ),

    leave: statement<{ id: string; heir_id: string | null }, never>('api_keys_leave', (values) =>
      db
        .updateTable('api_keys')
        .set({
          adopted_by: sql<string>`coalesce(${values.heir_id}, (select nullif(${creatorOf('left_by')}, ${sql.lit(bootstrapId)}) from api_keys as left_by where left_by.id = ${values.id}))`,
        })
        .where(creatorOf('api_keys'), '=', values.id),
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
    holdApiKey: ({ id, digest }) => new BoundChange('holdApiKey', [guarded(statements.hold, { id, digest })]),
    noteApiKeyUse: (id, usedAtMs) => new BoundChange('noteApiKeyUse', [step(statements.use, { id, last_used_at_ms: usedAtMs })]),
    setApiKeySecrets: ({ id, digest, formerSecrets }, replaced) => {
      const values = { id, digest, former_secrets: JSON.stringify(formerSecrets), replaced };
      return new BoundChange('setApiKeySecrets', [guarded(statements.setSecrets, values)]);
    },
    // Locked first: a key that it is creating in another transaction is then seen.
    deleteApiKey: (id, heirId) =>
      new BoundChange('deleteApiKey', [
        guarded(statements.lock, { id }),
        step(statements.leave, { id, heir_id: heirId }),
        guarded(statements.delete, { id }),
      ]),
  };
}
