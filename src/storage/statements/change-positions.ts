import { type Kysely, sql } from 'kysely';
import { openStatuses } from '../../core/records/transaction.js';
import type { TakePositions } from '../sql/bound-change.js';
import type { ChangePositionTable, Schema } from '../sql/schema.js';
import { statement } from '../sql/statement.js';

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
