import type { Selectable } from 'kysely';
import type { ApiKey } from '../../core/access/api-key.js';
import type { Scope } from '../../core/access/principal.js';
import type { ApiKeyTable } from '../schema.js';

/** A key's columns, without the one that the store gives it. */
export type ApiKeyRow = Omit<Selectable<ApiKeyTable>, 'seq'>;

/** The columns of a row, by name. */
export const apiKeyColumns = [
  'id',
  'name',
  'scopes',
  'relayer_ids',
  'digest',
  'created_at_ms',
  'expires_at_ms',
] as const satisfies readonly (keyof ApiKeyRow)[];

/** The row that stores a key. */
export function rowFromApiKey(key: ApiKey): ApiKeyRow {
  return {
    id: key.id,
    name: key.name,
    scopes: JSON.stringify(key.scopes),
    relayer_ids: JSON.stringify(key.relayerIds),
    digest: key.digest,
    created_at_ms: key.createdAtMs,
    expires_at_ms: key.expiresAtMs,
  };
}

/** The key that a row stores. */
export function apiKeyFromRow(row: ApiKeyRow): ApiKey {
  return {
    id: row.id,
    name: row.name,
    scopes: JSON.parse(row.scopes) as Scope[],
    relayerIds: JSON.parse(row.relayer_ids) as string[],
    digest: row.digest,
    createdAtMs: row.created_at_ms,
    expiresAtMs: row.expires_at_ms,
  };
}
