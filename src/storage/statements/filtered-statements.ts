import { sql } from 'kysely';
import type { TransactionStatus } from '../../core/records/transaction.js';
import type { Dialect } from '../sql/dialect.js';
import { perCount, statement } from '../sql/statement.js';
import { type TransactionViewRow, transactionViews } from './transaction-rows.js';

/** What decides whether a transaction is in a filtered list. */
export interface CandidateRow {
  readonly seq: number;
  readonly status: TransactionStatus;
  readonly created_at_ms: number;
  /** Exact JSON; only of a row that was found by its position. */
  readonly tags?: string | null;
}

interface SomeRelayers {
  readonly [relayer: `relayer_${number}`]: string;
}

/** Rows from `from` on, before `before`. */
interface Range {
  readonly from: number;
  readonly before: number;
  readonly limit: number;
}

/** Some positions of each relayer that have a value. */
export type PositionsQuery = SomeRelayers & Range & { readonly value: string };

interface Positions {
  readonly [position: `seq_${number}`]: number;
}

function positionsIn(values: Positions, count: number): number[] {
  return Array.from({ length: count }, (_, index) => values[`seq_${index}`] as number);
}

function relayersIn(values: SomeRelayers, count: number): string[] {
  return Array.from({ length: count }, (_, index) => values[`relayer_${index}`] as string);
}

/** Statements on filtered lists. */
export function filteredListStatements({ builder: db, name: dialect }: Pick<Dialect, 'builder' | 'name'>) {
  /**
   * The newest positions of each of some relayers that have a value, by an index of `table` alone, in one statement: one for each relayer
   * would cost a round trip each, and their rows are wide.
   */
  function positionsBy(table: 'transactions' | 'transaction_receivers' | 'transaction_labels', by: 'status' | 'receiver' | 'label') {
    const column = table === 'transactions' ? 'seq' : 'transaction_seq';
    return perCount((count) =>
      statement<PositionsQuery, { readonly relayer_id: string; readonly seq: number }>(`${table}_by_${by}_${count}`, (values) => {
        const of = (name: string) =>
          sql`${sql.ref(`${name}.relayer_id`)} = change_positions.relayer_id and ${sql.ref(`${name}.${by}`)} = ${values.value}`;
        const position = sql.ref(`listed.${column}`);
        const newest = sql`select ${position} as seq from ${sql.table(table)} as listed
          where ${of('listed')} and ${position} < ${values.before} and ${position} >= ${values.from}
          order by ${position} desc limit ${values.limit} + 0`;
        // Only PostgreSQL has lateral joins, and only SQLite looks up the members of such a list one by one.
        const found =
          dialect === 'postgres'
            ? sql`found.seq from change_positions cross join lateral (${newest}) as found`
            : sql`${sql.ref(`found.${column}`)} as seq from change_positions
                join ${sql.table(table)} as found on ${of('found')} and ${sql.ref(`found.${column}`)} in (${newest})`;
        const all = sql<{ relayer_id: string; seq: number }>`select change_positions.relayer_id, ${found}
          where change_positions.relayer_id in (${sql.join(relayersIn(values, count))})`;
        return { compile: () => all.compile(db) };
      }),
    );
  }

  return {
    byStatus: positionsBy('transactions', 'status'),
    byFirstReceiver: positionsBy('transactions', 'receiver'),
    byReceiver: positionsBy('transaction_receivers', 'receiver'),
    byLabel: positionsBy('transaction_labels', 'label'),

    /** The newest transactions of all relayers between two positions. */
    newest: statement<Range, CandidateRow & { readonly relayer_id: string }>('transactions_newest', (values) =>
      db
        .selectFrom('transactions')
        .select(['relayer_id', 'seq', 'status', 'created_at_ms'])
        .where('seq', '<', values.before)
        .where('seq', '>=', values.from)
        .orderBy('seq', 'desc')
        .limit(values.limit),
    ),

    /** Whether a transaction has or had a receiver: one row, or none. */
    ofReceiver: statement<{ id: string; receiver: string }, { one: number }>('transactions_of_receiver', (values) =>
      db
        .selectFrom('transactions')
        .select(sql.lit(1).as('one'))
        .where('id', '=', values.id)
        .where(
          sql<boolean>`(receiver = ${values.receiver} or exists (select 1 from transaction_receivers as others where others.transaction_seq = transactions.seq and others.receiver = ${values.receiver}))`,
        ),
    ),

    /** The transactions of some relayers that have or had this external id. */
    idsOfExternalId: perCount((count) =>
      statement<SomeRelayers & { readonly external_id: string }, { id: string }>(`transactions_of_external_id_${count}`, (values) =>
        db
          .selectFrom('external_ids')
          .select('transaction_id as id')
          .where('relayer_id', 'in', relayersIn(values, count))
          .where('external_id', '=', values.external_id),
      ),
    ),

    /** The last transaction up to a position. */
    lastUpTo: statement<{ seq: number }, CandidateRow>('transactions_last_up_to', (values) =>
      db
        .selectFrom('transactions')
        .select(['seq', 'status', 'created_at_ms'])
        .where('seq', '<=', values.seq)
        .orderBy('seq', 'desc')
        .limit(sql.lit(1)),
    ),

    /** Transactions by their positions. */
    bySeqs: perCount((count) =>
      statement<Positions, TransactionViewRow>(`transactions_by_seqs_${count}`, (values) =>
        transactionViews(db).where('transactions.seq', 'in', positionsIn(values, count)).orderBy('transactions.seq', 'desc'),
      ),
    ),

    /** The same, without their content. */
    candidatesBySeqs: perCount((count) =>
      statement<Positions, CandidateRow>(`transaction_candidates_by_seqs_${count}`, (values) =>
        db
          .selectFrom('transactions')
          .select(['seq', 'status', 'created_at_ms', 'tags'])
          .where('seq', 'in', positionsIn(values, count))
          .orderBy('seq', 'desc'),
      ),
    ),

    /** The transactions of which an attempt has a hash. */
    idsOfHash: statement<{ hash: string; limit: number }, { id: string }>('transactions_of_hash', (values) =>
      db.selectFrom('attempts').select('transaction_id as id').distinct().where('hash', '=', values.hash).limit(values.limit),
    ),

    /** The transactions of some accounts of which an attempt has a nonce. */
    idsOfSlots: perCount((count) => {
      const keys = Array.from({ length: count }, (_, index) => `account_${index}` as const);
      return statement<
        { readonly [account: `account_${number}`]: string } & { readonly chain: string; readonly nonce: string; readonly limit: number },
        { id: string }
      >(`transactions_of_slots_${count}`, (values) =>
        db
          .selectFrom('attempts')
          .select('transaction_id as id')
          .distinct()
          .where('chain', '=', values.chain)
          .where(
            'account',
            'in',
            keys.map((key) => values[key] as string),
          )
          .where('nonce', '=', values.nonce)
          .limit(values.limit),
      );
    }),
  };
}
