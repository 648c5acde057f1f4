import { type Kysely, sql } from 'kysely';
import type { ChangePositionTable, Schema } from '../schema.js';
import { statement } from '../statement.js';

/**
 * Statements on the positions of changes: the order in which watches read them.
 *
 * A position comes from a counter row of the relayer, which each change updates first, in its own commit. The database holds that row locked until
 * the commit ends, so two writers take positions in the order in which their commits become visible: a reader that has seen position 7 can never
 * meet a 6 that was committed late. A sequence or a clock would allow that, because it hands out numbers before commits end. SQLite has one
 * writer, so the order holds there without the lock.
 */
export function changePositionStatements(db: Kysely<Schema>) {
  return {
    take: statement<{ relayer_id: string }, never>('change_positions_take', (values) =>
      db
        .insertInto('change_positions')
        .values({ relayer_id: values.relayer_id, position: sql.lit(1), removed_through: sql.lit(0) })
        .onConflict((conflict) =>
          conflict.column('relayer_id').doUpdateSet((eb) => ({ position: eb('change_positions.position', '+', sql.lit(1)) })),
        ),
    ),

    /** Locks the counters of the relayers of a JSON list, in the order of their ids. PostgreSQL only. */
    lockAll: statement<{ relayer_ids: string }, never>('change_positions_lock_all', (values) => ({
      compile: () =>
        sql<never>`select from change_positions
          where relayer_id in (select jsonb_array_elements_text(${values.relayer_ids}::jsonb)) order by relayer_id for no key update`.compile(
          db,
        ),
    })),

    /** Remembers the position of a transaction that is about to be deleted. */
    noteRemoved: statement<{ id: string }, never>('change_positions_note_removed', (values) => {
      const removed = db.selectFrom('transactions').where('transactions.id', '=', values.id);
      return db
        .updateTable('change_positions')
        .set({ removed_through: removed.select('transactions.position') })
        .where('change_positions.relayer_id', '=', removed.select('transactions.relayer_id'))
        .where('change_positions.removed_through', '<', removed.select('transactions.position'));
    }),

    of: statement<{ relayer_id: string }, Pick<ChangePositionTable, 'position' | 'removed_through'>>('change_positions_of', (values) =>
      db.selectFrom('change_positions').select(['position', 'removed_through']).where('relayer_id', '=', values.relayer_id),
    ),
  };
}
