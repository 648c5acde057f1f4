import { type Kysely, sql } from 'kysely';
import type { ChangedTransaction, FeedReads } from '../../core/ports/store/feed.js';
import { type LaneId, openStatuses } from '../../core/records/transaction.js';
import type { TakePositions } from '../sql/bound-change.js';
import type { ChangePositionTable, Schema, TransactionTable } from '../sql/schema.js';
import { type Query, statement } from '../sql/statement.js';
import { isOpen, type TransactionViewRow, transactionViews, viewFromRow } from './transaction-rows.js';

/**
 * Statements on the positions of changes: the order in which watches read them.
 *
 * A position comes from a counter row of the relayer, which a batch moves first, by the number of its changes. The database holds that row
 * locked until the batch ends, so two writers take positions in the order in which their commits become visible: a reader that has seen
 * position 7 can never meet a 6 that was committed late. A sequence or a clock would allow that, because it hands out numbers before
 * commits end. SQLite has one writer, so the order holds there without the lock.
 */
export function changePositionStatements(db: Kysely<Schema>) {
  return {
    /** Takes the next positions of a relayer. */
    take: statement<TakePositions, never>('change_positions_take', (values) =>
      db
        .insertInto('change_positions')
        .values({ relayer_id: values.relayer_id, position: values.count, removed_through: sql.lit(0), is_closed: sql.lit(0) })
        .onConflict((conflict) =>
          conflict
            .column('relayer_id')
            .doUpdateSet((eb) => ({ position: eb('change_positions.position', '+', eb.ref('excluded.position')) })),
        ),
    ),

    /**
     * Keeps transactions from being inserted; affects no row if one is open. The batch has the row locked: an insert ended before, or
     * waits.
     */
    close: statement<{ relayer_id: string }, never>('change_positions_close', (values) =>
      db
        .updateTable('change_positions')
        .set({ is_closed: sql.lit(1) })
        .where('relayer_id', '=', values.relayer_id)
        .where((eb) =>
          eb.not(
            eb.exists(
              db
                .selectFrom('transactions')
                .select('transactions.id')
                .where('transactions.relayer_id', '=', values.relayer_id)
                .where(
                  'transactions.status',
                  'in',
                  openStatuses.map((status) => sql.lit(status)),
                ),
            ),
          ),
        ),
    ),

    reopen: statement<{ relayer_id: string }, never>('change_positions_reopen', (values) =>
      db
        .updateTable('change_positions')
        .set({ is_closed: sql.lit(0) })
        .where('relayer_id', '=', values.relayer_id),
    ),

    /** Remembers the position of a transaction that is about to be deleted. */
    noteRemoved: statement<{ id: string }, never>('change_positions_note_removed', (values) => {
      const removed = db.selectFrom('transactions').where('transactions.id', '=', values.id);
      return db
        .updateTable('change_positions')
        .set({ removed_through: removed.select('transactions.position') })
        .where('change_positions.relayer_id', '=', removed.select('transactions.relayer_id'))
        .where('change_positions.removed_through', '<', removed.select('transactions.position'));
    }),

    all: statement<object, Pick<ChangePositionTable, 'relayer_id' | 'position'>>('change_positions_all', () =>
      db.selectFrom('change_positions').select(['relayer_id', 'position']),
    ),

    of: statement<{ relayer_id: string }, Pick<ChangePositionTable, 'position' | 'removed_through'>>('change_positions_of', (values) =>
      db.selectFrom('change_positions').select(['position', 'removed_through']).where('relayer_id', '=', values.relayer_id),
    ),
  };
}

/** A transaction with its attempt, its place in the order of acceptance and the position of its last change. */
type ChangedTransactionRow = TransactionViewRow & { readonly seq: number; readonly position: number };

/** Statements on the changes that watches read. */
export function transactionChangeStatements(db: Kysely<Schema>) {
  const changedViews = () => transactionViews(db).select(['transactions.seq', 'transactions.position']);

  return {
    /** A relayer's transactions that changed after a position, in the order of their last changes. */
    changedAfter: statement<{ relayer_id: string; after: number; limit: number }, ChangedTransactionRow>(
      'transactions_changed_after',
      (values) =>
        changedViews()
          .where('transactions.relayer_id', '=', values.relayer_id)
          .where('transactions.position', '>', values.after)
          .orderBy('transactions.position')
          .limit(values.limit),
    ),

    /** The same without their content. */
    summariesAfter: statement<
      { relayer_id: string; after: number; limit: number },
      Pick<TransactionTable, 'id' | 'revision' | 'status' | 'position'>
    >('transactions_summaries_after', (values) =>
      db
        .selectFrom('transactions')
        .select(['id', 'revision', 'status', 'position'])
        .where('relayer_id', '=', values.relayer_id)
        .where('position', '>', values.after)
        .orderBy('position')
        .limit(values.limit),
    ),

    /** One transaction, if it changed after a position. */
    oneChangedAfter: statement<{ id: string; after: number }, ChangedTransactionRow>('transactions_one_changed_after', (values) =>
      changedViews().where('transactions.id', '=', values.id).where('transactions.position', '>', values.after),
    ),

    /** A relayer's open transactions that have not changed after a position, oldest first by acceptance. */
    openUnchanged: statement<LaneId & { relayer_id: string; after_seq: number; up_to: number; limit: number }, ChangedTransactionRow>(
      'transactions_open_unchanged',
      (values) =>
        changedViews()
          .where('transactions.chain', '=', values.chain)
          .where('transactions.account', '=', values.account)
          .where(isOpen())
          .where('transactions.relayer_id', '=', values.relayer_id)
          .where('transactions.seq', '>', values.after_seq)
          .where('transactions.position', '<=', values.up_to)
          .orderBy('transactions.seq')
          .limit(values.limit),
    ),
  };
}

function changedFromRow(row: ChangedTransactionRow): ChangedTransaction {
  return { view: viewFromRow(row), place: row.seq, position: row.position };
}

interface Statements {
  readonly changePositions: ReturnType<typeof changePositionStatements>;
  readonly transactionChanges: ReturnType<typeof transactionChangeStatements>;
}

/** Queries of what changed. */
export function feedReads({ changePositions, transactionChanges }: Statements, query: Query): FeedReads {
  return {
    changePositions: async (relayerId) => {
      const [row] = await query(changePositions.of, { relayer_id: relayerId });
      return { last: row?.position ?? 0, removedThrough: row?.removed_through ?? 0 };
    },
    lastPositions: async () => new Map((await query(changePositions.all, {})).map((row) => [row.relayer_id, row.position])),
    changesAfter: async (relayerId, after, limit) =>
      (await query(transactionChanges.changedAfter, { relayer_id: relayerId, after, limit })).map(changedFromRow),
    changesOfRelayer: (relayerId, after, limit) => query(transactionChanges.summariesAfter, { relayer_id: relayerId, after, limit }),
    changeAfter: async (id, after) => (await query(transactionChanges.oneChangedAfter, { id, after })).map(changedFromRow)[0],
    openUnchanged: async (relayerId, { chain, account }, { afterPlace, upTo, limit }) => {
      const values = { relayer_id: relayerId, chain, account, after_seq: afterPlace, up_to: upTo, limit };
      return (await query(transactionChanges.openUnchanged, values)).map(changedFromRow);
    },
  };
}
