import { type Kysely, sql } from 'kysely';
import { type StoredResponseRow, storedResponseColumns } from '../rows/stored-response-row.js';
import type { Schema } from '../schema.js';
import { pick, statement } from '../statement.js';

type StoredResponseQuery = Pick<StoredResponseRow, 'key_id' | 'method' | 'idempotency_key'> & { readonly now_ms: number };

/** Statements on what calls with an idempotency key came to. */
export function storedResponseStatements(db: Kysely<Schema>) {
  return {
    /** Takes the place of one that has expired. */
    put: statement<StoredResponseRow, never>('outcomes_put', (values) =>
      db
        .insertInto('outcomes')
        .values(pick(values, storedResponseColumns))
        .onConflict((conflict) =>
          conflict.columns(['key_id', 'method', 'idempotency_key']).doUpdateSet((eb) => ({
            fingerprint: eb.ref('excluded.fingerprint'),
            response: eb.ref('excluded.response'),
            expires_at_ms: eb.ref('excluded.expires_at_ms'),
          })),
        ),
    ),

    byKey: statement<StoredResponseQuery, StoredResponseRow>('outcomes_by_key', (values) =>
      db
        .selectFrom('outcomes')
        .select(storedResponseColumns)
        .where('key_id', '=', values.key_id)
        .where('method', '=', values.method)
        .where('idempotency_key', '=', values.idempotency_key)
        .where('expires_at_ms', '>', values.now_ms),
    ),

    forgetFingerprints: statement<Pick<StoredResponseRow, 'fingerprint'>, never>('outcomes_forget_fingerprints', (values) =>
      db.updateTable('outcomes').set(pick(values, ['fingerprint'])),
    ),

    firstExpiry: statement<object, Pick<StoredResponseRow, 'expires_at_ms'>>('outcomes_first_expiry', () =>
      db.selectFrom('outcomes').select('expires_at_ms').orderBy('expires_at_ms').limit(sql.lit(1)),
    ),

    deleteExpired: statement<{ now_ms: number; limit: number }, never>('outcomes_delete_expired', (values) =>
      db
        .deleteFrom('outcomes')
        .where('seq', 'in', (eb) =>
          eb
            .selectFrom('outcomes as expired')
            .select('expired.seq')
            .where('expired.expires_at_ms', '<=', values.now_ms)
            .orderBy('expired.expires_at_ms')
            .limit(values.limit),
        ),
    ),
  };
}
