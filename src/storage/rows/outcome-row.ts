import type { Selectable } from 'kysely';
import type { Outcome } from '../../core/access/idempotency.js';
import type { OutcomeTable } from '../schema.js';

/** An outcome's columns, without the one that the store gives it. */
export type OutcomeRow = Omit<Selectable<OutcomeTable>, 'seq'>;

/** The columns of a row, by name. */
export const outcomeColumns = [
  'key_id',
  'method',
  'idempotency_key',
  'fingerprint',
  'response',
  'expires_at_ms',
] as const satisfies readonly (keyof OutcomeRow)[];

/** The row that stores an outcome. */
export function rowFromOutcome(outcome: Outcome): OutcomeRow {
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
export function outcomeFromRow(row: OutcomeRow): Outcome {
  return {
    keyId: row.key_id,
    method: row.method,
    idempotencyKey: row.idempotency_key,
    fingerprint: row.fingerprint,
    response: new Uint8Array(Buffer.from(row.response, 'base64')),
    expiresAtMs: row.expires_at_ms,
  };
}
