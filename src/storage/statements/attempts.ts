import { expressionBuilder, type Kysely, type Selectable, sql } from 'kysely';
import type { AttemptChanges, AttemptReads } from '../../core/ports/store/attempts.js';
import { type Attempt, finalStatuses } from '../../core/records/transaction.js';
import { BoundChange, guarded } from '../sql/bound-change.js';
import { exactJson, recordMapping } from '../sql/record-mapping.js';
import type { AttemptTable, Schema } from '../sql/schema.js';
import { type Query, statement } from '../sql/statement.js';
import { newestTimeline } from './instances.js';

/** An attempt's columns without `seq`, which the store assigns. */
export type AttemptRow = Omit<Selectable<AttemptTable>, 'seq'>;

const mapping = recordMapping<Attempt, AttemptRow, Exclude<keyof Attempt, 'nonce'>>(
  {
    transactionId: 'transaction_id',
    version: 'version',
    chain: 'chain',
    account: 'account',
    purpose: 'purpose',
    hash: 'hash',
    raw: 'raw',
    fields: exactJson('fields'),
    createdAtMs: 'created_at_ms',
  },
  ['nonce'],
  ['nonce'],
);

/** The columns of an attempt's row. */
export const attemptColumns = mapping.columns;

/** The row that stores an attempt. An unsequenced attempt has its transaction's id in place of a nonce, so its slot is its own. */
function rowFromAttempt(attempt: Attempt): AttemptRow {
  return Object.assign(mapping.toRow(attempt), { nonce: attempt.nonce?.toString() ?? attempt.transactionId });
}

/** The attempt that a row stores. */
export function attemptFromRow(row: AttemptRow): Attempt {
  return Object.assign(mapping.fromRow(row), { nonce: row.nonce === row.transaction_id ? null : BigInt(row.nonce) });
}

/** PostgreSQL takes a value of a select for text if its type is not stated. */
function typeOf(column: keyof AttemptRow): string {
  return column === 'version' ? 'integer' : column === 'created_at_ms' ? 'bigint' : 'text';
}

interface SlotQuery {
  readonly chain: string;
  readonly account: string;
  readonly nonce: string;
}

/**
 * False while the database lacks commits that it had answered: one of them may have been the same payment, or have counted against the same
 * limit. Nor, after a failover, is it true before each instance whose commits waited for no standby has returned: it may pay and sign with
 * the earlier primary.
 */
export function isSigningAllowed(db: Kysely<Schema>) {
  const rewound = db.selectFrom('database_ids').select('number').where('rewound_at_ms', 'is not', null);
  const unreturned = db
    .selectFrom('instances')
    .select('number')
    .where('number', '>', sql.lit(1))
    .where('is_synchronous', '=', sql.lit(0))
    .where('timeline', '<', newestTimeline(db));
  const { not, exists, and } = expressionBuilder<Schema, never>();
  return and([not(exists(rewound)), not(exists(unreturned))]);
}

/** Statements on attempts. */
export function attemptStatements(db: Kysely<Schema>) {
  /** The attempts of a slot, each beside its transaction if the transaction still uses the slot. */
  const withTransactionInSlot = (values: SlotQuery) =>
    db
      .selectFrom('attempts')
      .innerJoin('transactions', 'transactions.id', 'attempts.transaction_id')
      .where('attempts.chain', '=', values.chain)
      .where('attempts.account', '=', values.account)
      .where('attempts.nonce', '=', values.nonce)
      .whereRef('transactions.nonce', '=', 'attempts.nonce');

  return {
    /** Affects no row while nothing may be signed: see `isSigningAllowed`. */
    insert: statement<AttemptRow, never>('attempts_insert', (values) =>
      db
        .insertInto('attempts')
        .columns(attemptColumns)
        .expression(
          db
            .selectNoFrom(attemptColumns.map((column) => sql`cast(${values[column]} as ${sql.raw(typeOf(column))})`.as(column)))
            .where(isSigningAllowed(db)),
        ),
    ),

    inSlot: statement<SlotQuery, AttemptRow>('attempts_in_slot', (values) =>
      db
        .selectFrom('attempts')
        .select(attemptColumns)
        .where('chain', '=', values.chain)
        .where('account', '=', values.account)
        .where('nonce', '=', values.nonce)
        .orderBy('version'),
    ),

    /** The transaction of an unsequenced attempt. */
    ownerOfHash: statement<{ chain: string; hash: string }, { transaction_id: string }>('attempts_owner_of_hash', (values) =>
      db
        .selectFrom('attempts')
        .select('transaction_id')
        .where('chain', '=', values.chain)
        .where('hash', '=', values.hash)
        .whereRef('nonce', '=', 'transaction_id'),
    ),

    deleteOf: statement<{ transaction_id: string }, never>('attempts_delete_of', (values) =>
      db.deleteFrom('attempts').where('transaction_id', '=', values.transaction_id),
    ),

    /** The transaction that uses a slot now. */
    ownerOfSlot: statement<SlotQuery, { id: string }>('attempts_owner_of_slot', (values) =>
      withTransactionInSlot(values).select('transactions.id').orderBy('attempts.version', 'desc').limit(sql.lit(1)),
    ),

    /** The attempts of a slot that made a transaction final. */
    finalInSlot: statement<SlotQuery, { version: number }>('attempts_final_in_slot', (values) =>
      withTransactionInSlot(values)
        .select('attempts.version')
        .whereRef('transactions.mined_version', '=', 'attempts.version')
        .where('transactions.status', 'in', [...finalStatuses]),
    ),
  };
}

type Statements = ReturnType<typeof attemptStatements>;

/** Queries of attempts. */
export function attemptReads(attempts: Statements, query: Query): AttemptReads {
  return {
    transactionIdAt: async ({ chain, account }, nonce) =>
      (await query(attempts.ownerOfSlot, { chain, account, nonce: nonce.toString() }))[0]?.id,
    transactionIdOf: async (chain, hash) => (await query(attempts.ownerOfHash, { chain, hash }))[0]?.transaction_id,
    slot: async ({ chain, account }, nonce) => {
      const values = { chain, account, nonce: nonce.toString() };
      const versions = (await query(attempts.inSlot, values)).map(attemptFromRow);
      const finals = new Set((await query(attempts.finalInSlot, values)).map(({ version }) => version));
      return { versions, mined: versions.find(({ version }) => finals.has(version)) ?? null };
    },
  };
}

/** Changes of attempts. */
export function attemptChanges(attempts: Statements): AttemptChanges {
  return {
    insertAttempt: (attempt) => new BoundChange('insertAttempt', [guarded(attempts.insert, rowFromAttempt(attempt))]),
  };
}
