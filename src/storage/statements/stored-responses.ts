import { type Kysely, type Selectable, sql } from 'kysely';
import type { StoredResponseChanges, StoredResponseReads } from '../../core/ports/store/stored-responses.js';
import type { StoredResponse } from '../../core/records/stored-response.js';
import { BoundChange, guarded, step } from '../sql/bound-change.js';
import { recordMapping } from '../sql/record-mapping.js';
import type { Schema, StoredResponseTable } from '../sql/schema.js';
import { pick, type Query, statement } from '../sql/statement.js';

type StoredResponseRow = Omit<Selectable<StoredResponseTable>, 'seq'>;
type StoredResponseQuery = Pick<StoredResponseRow, 'key_id' | 'method' | 'idempotency_key'> & { readonly now_ms: number };

/** How stored responses are stored. */
const storedResponseMapping = recordMapping<StoredResponse, StoredResponseRow>({
  keyId: 'key_id',
  method: 'method',
  idempotencyKey: 'idempotency_key',
  fingerprint: 'fingerprint',
  response: {
    column: 'response',
    write: (response) => Buffer.from(response).toString('base64'),
    read: (stored: string) => new Uint8Array(Buffer.from(stored, 'base64')),
  },
  expiresAtMs: 'expires_at_ms',
});

/** Statements on the responses that idempotency keys replay. */
export function storedResponseStatements(db: Kysely<Schema>) {
  const { columns } = storedResponseMapping;
  return {
    /** Inserts a response, or replaces the expired response of the same key. Affects no row if the key has another response. */
    put: statement<StoredResponseRow & { readonly now_ms: number }, never>('stored_responses_put', (values) =>
      db
        .insertInto('stored_responses')
        .values(pick(values, columns))
        .onConflict((conflict) =>
          conflict
            .columns(['key_id', 'method', 'idempotency_key'])
            .doUpdateSet((eb) => ({
              fingerprint: eb.ref('excluded.fingerprint'),
              response: eb.ref('excluded.response'),
              expires_at_ms: eb.ref('excluded.expires_at_ms'),
            }))
            .where('stored_responses.expires_at_ms', '<=', values.now_ms),
        ),
    ),

    byKey: statement<StoredResponseQuery, StoredResponseRow>('stored_responses_by_key', (values) =>
      db
        .selectFrom('stored_responses')
        .select(columns)
        .where('key_id', '=', values.key_id)
        .where('method', '=', values.method)
        .where('idempotency_key', '=', values.idempotency_key)
        .where('expires_at_ms', '>', values.now_ms),
    ),

    firstExpiry: statement<object, Pick<StoredResponseRow, 'expires_at_ms'>>('stored_responses_first_expiry', () =>
      db.selectFrom('stored_responses').select('expires_at_ms').orderBy('expires_at_ms').limit(sql.lit(1)),
    ),

    deleteExpired: statement<{ now_ms: number; limit: number }, never>('stored_responses_delete_expired', (values) =>
      db
        .deleteFrom('stored_responses')
        .where('seq', 'in', (eb) =>
          eb
            .selectFrom('stored_responses as expired')
            .select('expired.seq')
            .where('expired.expires_at_ms', '<=', values.now_ms)
            .orderBy('expired.expires_at_ms')
            .limit(values.limit),
        ),
    ),
  };
}

type Statements = ReturnType<typeof storedResponseStatements>;

/** Queries of stored responses. */
export function storedResponseReads(statements: Statements, query: Query): StoredResponseReads {
  return {
    storedResponse: async ({ keyId, method, idempotencyKey }, nowMs) => {
      const rows = await query(statements.byKey, { key_id: keyId, method, idempotency_key: idempotencyKey, now_ms: nowMs });
      return rows.map(storedResponseMapping.fromRow)[0];
    },
    firstStoredResponseExpiryMs: async () => (await query(statements.firstExpiry, {}))[0]?.expires_at_ms,
  };
}

/** Changes of stored responses. */
export function storedResponseChanges(statements: Statements): StoredResponseChanges {
  return {
    putStoredResponse: (response, nowMs) =>
      new BoundChange('putStoredResponse', [guarded(statements.put, { ...storedResponseMapping.toRow(response), now_ms: nowMs })]),
    deleteExpiredStoredResponses: (nowMs, limit) =>
      new BoundChange('deleteExpiredStoredResponses', [step(statements.deleteExpired, { now_ms: nowMs, limit })]),
  };
}
