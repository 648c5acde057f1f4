import { type Kysely, sql } from 'kysely';
import type { ChangedTransaction, FeedReads } from '../../core/ports/store/feed.js';
import { type LaneId, openStatuses } from '../../core/records/transaction.js';
import type { Schema, TransactionTable } from '../sql/schema.js';
import { type Query, statement } from '../sql/statement.js';
import { isOpen, type TransactionViewRow, transactionViews, viewFromRow } from './transaction-rows.js';

/**
 * Statements on the positions of changes: the order in which watches read them.
 *
 * A batch first locks the row of the relayer, and each of its changes takes the position after the highest one. The database holds the lock
 * until the batch ends, so two writers take positions in the order in which their commits become visible: a reader that has seen position 7
 * can never meet a 6 that was committed late. A sequence or a clock would allow that, because it hands out numbers before commits end.
 * SQLite has one writer, so the order holds there without the lock.
 *
 * The lock leaves no version of the row behind: beside an open snapshot, such as a dump, each batch would walk over the
 * versions of all earlier batches.
 */
export function changePositionStatements(db: Kysely<Schema>) {
  const removedPosition = (id: string) => sql<number>`(select transactions.position from transactions where transactions.id = ${id})`;

  return {
    /** Locks the row of a relayer, which is new if it has none. A condition that never holds locks, and updates nothing. */
    lock: statement<{ relayer_id: string }, never>('change_positions_lock', (values) =>
      db
        .insertInto('change_positions')
        .values({ relayer_id: values.relayer_id, position: sql.lit(0), is_closed: sql.lit(0) })
        .onConflict((conflict) =>
          conflict
            .column('relayer_id')
            .doUpdateSet((eb) => ({ position: eb.ref('excluded.position') }))
            .where(sql<boolean>`1 = 0`),
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
    noteRemoved: statement<{ id: string }, never>('removed_positions_note', (values) =>
      db
        .insertInto('removed_positions')
        .columns(['relayer_id', 'position'])
        .expression(
          db
            .selectFrom('transactions')
            .select([
              'relayer_id',
              sql<number>`coalesce((select max(newest.position) from removed_positions as newest where newest.relayer_id = transactions.relayer_id), transactions.position)`.as(
                'position',
              ),
            ])
            .where('id', '=', values.id),
        )
        .onConflict((conflict) =>
          conflict
            .columns(['relayer_id', 'position'])
            .doUpdateSet({ position: removedPosition(values.id) })
            .where('removed_positions.position', '<', removedPosition(values.id)),
        ),
    ),

    /** Keeps the position of a transaction that is about to be deleted as the relayer's last one, if no other has a higher one. */
    keepLast: statement<{ id: string }, never>('change_positions_keep_last', (values) =>
      db
        .updateTable('change_positions')
        .set({ position: removedPosition(values.id) })
        .where(
          sql<boolean>`change_positions.relayer_id = (select transactions.relayer_id from transactions where transactions.id = ${values.id})`,
        )
        .where('change_positions.position', '<', removedPosition(values.id))
        .where(
          sql<boolean>`${removedPosition(values.id)} = (select max(latest.position) from transactions as latest where latest.relayer_id = change_positions.relayer_id)`,
        ),
    ),

    all: statement<object, PositionsRow & { readonly relayer_id: string }>('change_positions_all', () =>
      db.selectFrom('change_positions').select(['relayer_id', 'position', latest.as('latest')]),
    ),

    of: statement<{ relayer_id: string }, PositionsRow & { readonly removed: number | null }>('change_positions_of', (values) =>
      db
        .selectFrom('change_positions')
        .select([
          'position',
          latest.as('latest'),
          sql<
            number | null
          >`(select max(removed.position) from removed_positions as removed where removed.relayer_id = change_positions.relayer_id)`.as(
            'removed',
          ),
        ])
        .where('relayer_id', '=', values.relayer_id),
    ),
  };
}

interface PositionsRow {
  readonly position: number;
  /** The highest position of a stored transaction; null: there is none. */
  readonly latest: number | null;
}

const latest = sql<
  number | null
>`(select max(transactions.position) from transactions where transactions.relayer_id = change_positions.relayer_id)`;

function lastPosition({ position, latest }: PositionsRow): number {
  return Math.max(position, latest ?? 0);
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
      return { last: row === undefined ? 0 : lastPosition(row), removedThrough: row?.removed ?? 0 };
    },
    lastPositions: async () => new Map((await query(changePositions.all, {})).map((row) => [row.relayer_id, lastPosition(row)])),
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
