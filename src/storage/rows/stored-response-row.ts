import type { Selectable } from 'kysely';
import type { StoredResponse } from '../../core/access/stored-response.js';
import type { StoredResponseTable } from '../schema.js';

/** An outcome's columns, without the one that the store gives it. */
export type StoredResponseRow = Omit<Selectable<StoredResponseTable>, 'seq'>;

/** The columns of a row, by name. */
export const storedResponseColumns = [
  'key_id',
  'method',
  'idempotency_key',
  'fingerprint',
  'response',
  'expires_at_ms',
] as const satisfies readonly (keyof StoredResponseRow)[];

/** The row that stores an outcome. */
export function rowFromStoredResponse(outcome: StoredResponse): StoredResponseRow {
  return {
    key_id: outcome.keyId,
    method: outcome.method,
    idempotency_key: outcome.idempotencyKey,
    fingerprint: outcome.fingerprint,
    response: Buffer.from(outcome.response).toString('base64'),
    expires_at_ms: outcome.expiresAtMs,
  };
}

/** The outcome that a row stores. */
export function storedResponseFromRow(row: StoredResponseRow): StoredResponse {
  return {
    keyId: row.key_id,
    method: row.method,
    idempotencyKey: row.idempotency_key,
    fingerprint: row.fingerprint,
    response: new Uint8Array(Buffer.from(row.response, 'base64')),
    expiresAtMs: row.expires_at_ms,
  };
}
