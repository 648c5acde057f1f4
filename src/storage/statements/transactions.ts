import { type Expression, type Kysely, sql } from 'kysely';
import { type LaneId, openStatuses, type TransactionStatus } from '../../core/records/transaction.js';
import type { Flag, Schema } from '../sql/schema.js';
import { perCount, pick, statement } from '../sql/statement.js';
import {
  attemptSelection,
  isOpen,
  type TransactionRow,
  type TransactionViewRow,
  transactionColumns,
  transactionSelection,
  transactionViews,
  type WrittenRow,
} from './transaction-rows.js';

interface OldestRow {
  readonly id: string;
  readonly ordinal: number;
  readonly ended_at_ms: number | null;
  readonly shares_slot: Flag;
}

/** Rows that were walked over. */
export interface Walked {
  readonly count: number;
  /** The `seq` of the oldest; null if there is none. */
  readonly last: number | null;
}

interface StatusPage {
  readonly relayer_id: string;
  /** Rows from this `seq` on are left out. */
  readonly before: number;
  readonly limit: number;
  /** `status_0`, `status_1`, ... */
  readonly [status: `status_${number}`]: TransactionStatus;
}

// The owner of a transaction never changes.
const changingColumns = transactionColumns.filter(
  (column) =>
    column !== 'id' &&
    column !== 'relayer_id' &&
    column !== 'chain' &&
    column !== 'account' &&
    column !== 'created_at_ms' &&
    column !== 'trace_parent',
);
/** Statements on transactions and their totals. */
export function transactionStatements(db: Kysely<Schema>) {
  const views = () => transactionViews(db);

  /** One of the positions that the same commit has taken, see `readyBatch`. */
  const takenPosition = ({ relayer_id, positions_back }: WrittenRow) =>
    sql<number>`(select change_positions.position from change_positions where change_positions.relayer_id = ${relayer_id}) - ${positions_back}`;

  const addToTotal = (from: Expression<{ relayer_id: string; status: TransactionStatus; total: number }>) =>
    db
      .insertInto('transaction_totals')
      .columns(['relayer_id', 'status', 'total'])
      .expression(from)
      .onConflict((conflict) =>
        conflict
          .columns(['relayer_id', 'status'])
          .doUpdateSet((eb) => ({ total: eb('transaction_totals.total', '+', eb.ref('excluded.total')) })),
      );

  /**
   * Selects the newest of each status from the index and merges them: with one condition for all statuses, a database may sort all rows.
   */
  function newestInStatuses(statusCount: number, values: StatusPage) {
    const newestOf = (index: number) =>
      db
        .selectFrom(
          db
            .selectFrom('transactions')
            .select('seq')
            .where('relayer_id', '=', values.relayer_id)
            .where('status', '=', values[`status_${index}`] as TransactionStatus)
            .where('seq', '<', values.before)
            .orderBy('seq', 'desc')
            .limit(values.limit)
            .as('newest'),
        )
        .select('seq');
    const found = Array.from({ length: statusCount - 1 }, (_, index) => newestOf(index + 1)).reduce(
      (union, next) => union.unionAll(next),
      newestOf(0),
    );
    return db.selectFrom(found.as('found')).select('seq').orderBy('seq', 'desc').limit(values.limit);
  }

  return {
    /**
     * The position of a closed relayer is null, which the column refuses. SQLite would keep the rows of a select in a table of their own
     * first.
     */
    insert: statement<WrittenRow, never>('transactions_insert', (values) =>
      db.insertInto('transactions').values({
        ...pick(values, [...transactionColumns, 'ended_at_ms']),
        ordinal: sql<number>`coalesce((select max(ordinal) from transactions where relayer_id = ${values.relayer_id}), 0) + 1`,
        position: sql<number>`(select change_positions.position from change_positions where change_positions.relayer_id = ${values.relayer_id} and change_positions.is_closed = 0) - ${values.positions_back}`,
      }),
    ),

    /** Writes a transaction that stays open; affects no row if it is final. */
    update: statement<WrittenRow, never>('transactions_update', (values) =>
      db
        .updateTable('transactions')
        .set({ ...pick(values, changingColumns), position: takenPosition(values) })
        .where('id', '=', values.id)
        .where('revision', '=', values.revision_before)
        .where(isOpen()),
    ),

    /**
     * Writes a transaction that is final then. Keeps its end if it had one, and refuses to change a final status: the totals depend on it.
     */
    finish: statement<WrittenRow, never>('transactions_finish', (values) =>
      db
        .updateTable('transactions')
        .set({
          ...pick(values, changingColumns),
          position: takenPosition(values),
          ended_at_ms: sql<number>`coalesce(transactions.ended_at_ms, ${values.ended_at_ms})`,
        })
        .where('id', '=', values.id)
        .where('revision', '=', values.revision_before)
        .where((eb) => eb.or([isOpen(), eb('status', '=', values.status)])),
    ),

    /** Counts a transaction that leaves the open statuses; runs before its update. */
    addFinished: statement<TransactionRow, never>('transactions_add_finished', (values) =>
      addToTotal(
        db
          .selectFrom('transactions')
          .select(['relayer_id', sql<TransactionStatus>`${values.status}`.as('status'), sql.lit(1).as('total')])
          .where('id', '=', values.id)
          .where(isOpen()),
      ),
    ),

    /** Counts a transaction that is inserted with a final status; runs after its insert. */
    addInserted: statement<TransactionRow, never>('transactions_add_inserted', (values) =>
      addToTotal(
        db
          .selectFrom('transactions')
          .select(['relayer_id', 'status', sql.lit(1).as('total')])
          .where('id', '=', values.id),
      ),
    ),

    byId: statement<{ id: string }, TransactionViewRow>('transactions_by_id', (values) => views().where('transactions.id', '=', values.id)),

    /** The lowest and the highest ordinal, each read from one end of the index. */
    ordinals: statement<{ relayer_id: string }, { first: number | null; last: number | null }>('transactions_ordinals', (values) => {
      const ordinals = db.selectFrom('transactions').where('relayer_id', '=', values.relayer_id);
      return db.selectNoFrom([
        ordinals.select((inner) => inner.fn.min('ordinal').as('first')).as('first'),
        ordinals.select((inner) => inner.fn.max('ordinal').as('last')).as('last'),
      ]);
    }),

    /** Where a transaction is in the lists of its relayer. */
    position: statement<{ id: string }, { ordinal: number; seq: number }>('transactions_position', (values) =>
      db.selectFrom('transactions').select(['ordinal', 'seq']).where('id', '=', values.id),
    ),

    /** The page that begins at ordinal `highest` and goes down. */
    page: statement<{ relayer_id: string; highest: number; limit: number }, TransactionViewRow>('transactions_page', (values) =>
      views()
        .where('transactions.relayer_id', '=', values.relayer_id)
        .where('transactions.ordinal', '<=', values.highest)
        .orderBy('transactions.ordinal', 'desc')
        .limit(values.limit),
    ),

    /** The number of a relayer's transactions in each status. */
    totals: statement<{ relayer_id: string }, { status: TransactionStatus; total: number }>('transactions_totals', (values) =>
      db
        .selectFrom('transaction_totals')
        .select(['status', 'total'])
        .where('relayer_id', '=', values.relayer_id)
        .unionAll(
          db
            .selectFrom('transactions')
            .select((eb) => ['status', eb.fn.countAll<number>().as('total')])
            .where('relayer_id', '=', values.relayer_id)
            // By status, which is in the index that has the relayer.
            .where(sql<boolean>`status in (${sql.join(openStatuses.map((status) => sql.lit(status)))})`)
            .groupBy('status'),
        ),
    ),

    /** A page of the transactions in `statusCount` statuses. */
    pageOfStatuses: perCount((statusCount) =>
      statement<StatusPage, TransactionViewRow>(`transactions_page_of_${statusCount}`, (values) =>
        views().where('transactions.seq', 'in', newestInStatuses(statusCount, values)).orderBy('transactions.seq', 'desc'),
      ),
    ),

    /** Walks over as many rows in the index: their number and the oldest of them. */
    walkStatuses: perCount((statusCount) =>
      statement<StatusPage, Walked>(`transactions_walk_${statusCount}`, (values) =>
        db
          .selectFrom(newestInStatuses(statusCount, values).as('walked'))
          .select((eb) => [eb.fn.countAll<number>().as('count'), eb.fn.min('seq').as('last')]),
      ),
    ),

    /** A page of the open transactions of a lane, oldest first, with a row per attempt, oldest first. */
    openOfLane: statement<LaneId & { after_seq: number; limit: number }, TransactionViewRow>('transactions_open_of_lane', (values) =>
      db
        .selectFrom('transactions')
        .leftJoin('attempts', 'attempts.transaction_id', 'transactions.id')
        .select(transactionSelection)
        .select(attemptSelection)
        .where('transactions.seq', 'in', (of) =>
          of
            .selectFrom('transactions as page')
            .select('page.seq')
            .where('page.chain', '=', values.chain)
            .where('page.account', '=', values.account)
            .where(isOpen('page'))
            .where('page.seq', '>', values.after_seq)
            .orderBy('page.seq')
            .limit(values.limit),
        )
        .orderBy('transactions.seq')
        .orderBy('attempts.version'),
    ),

    /** Transactions with all their attempts, of which each has its rows in a row. */
    byIds: perCount((count) => {
      const keys = Array.from({ length: count }, (_, index) => `id_${index}` as const);
      return statement<Record<`id_${number}`, string>, TransactionViewRow>(`transactions_by_ids_${count}`, (values) =>
        db
          .selectFrom('transactions')
          .leftJoin('attempts', 'attempts.transaction_id', 'transactions.id')
          .select(transactionSelection)
          .select(attemptSelection)
          .where(
            'transactions.id',
            'in',
            keys.map((key) => values[key] as string),
          )
          .orderBy('transactions.seq')
          .orderBy('attempts.version'),
      );
    }),

    waitingCount: statement<LaneId & { limit: number }, { total: number }>('transactions_waiting_count', (values) =>
      db
        .selectFrom(
          db
            .selectFrom('transactions')
            .select('id')
            .where('chain', '=', values.chain)
            .where('account', '=', values.account)
            .where(isOpen())
            .where('status', '=', sql.lit('pending'))
            .limit(values.limit)
            .as('waiting'),
        )
        .select((eb) => eb.fn.countAll<number>().as('total')),
    ),

    /** The open transactions of a lane without their content, oldest first. */
    openSummaries: statement<LaneId, Pick<TransactionRow, 'id' | 'relayer_id' | 'status' | 'intent' | 'revision'>>(
      'transactions_open_summaries',
      (values) =>
        db
          .selectFrom('transactions')
          .select(['id', 'relayer_id', 'status', 'intent', 'revision'])
          .where('chain', '=', values.chain)
          .where('account', '=', values.account)
          .where(isOpen())
          .orderBy('seq'),
    ),

    /** The relayers that have finished transactions. */
    relayers: statement<object, { relayer_id: string }>('transactions_relayers', () =>
      db.selectFrom('transaction_totals').select('relayer_id').distinct().where('total', '>', sql.lit(0)),
    ),

    /** A relayer's oldest transactions. `shares_slot`: an open transaction has an attempt in the same slot as one of its attempts. */
    oldest: statement<{ relayer_id: string; limit: number }, OldestRow>('transactions_oldest', (values) =>
      db
        .selectFrom('transactions')
        .select((eb) => [
          'id',
          'ordinal',
          'ended_at_ms',
          eb
            .case()
            .when(
              eb.exists(
                eb
                  .selectFrom('attempts as own')
                  .innerJoin('attempts as other', (join) =>
                    join
                      .onRef('other.chain', '=', 'own.chain')
                      .onRef('other.account', '=', 'own.account')
                      .onRef('other.nonce', '=', 'own.nonce'),
                  )
                  .innerJoin('transactions as open', 'open.id', 'other.transaction_id')
                  .select(sql.lit(1).as('one'))
                  .whereRef('own.transaction_id', '=', 'transactions.id')
                  .whereRef('open.id', '<>', 'transactions.id')
                  .where(isOpen('open')),
              ),
            )
            .then(sql.lit<Flag>(1))
            .else(sql.lit<Flag>(0))
            .end()
            .as('shares_slot'),
        ])
        .where('relayer_id', '=', values.relayer_id)
        .orderBy('ordinal')
        .limit(values.limit),
    ),

    /** Subtracts a transaction from its total; runs before the transaction is deleted. */
    subtractFinished: statement<{ id: string }, never>('transactions_subtract_finished', (values) =>
      db
        .updateTable('transaction_totals')
        .set((eb) => ({ total: eb('total', '-', sql.lit(1)) }))
        .where(
          sql<boolean>`(relayer_id, status) = (select transactions.relayer_id, transactions.status from transactions where transactions.id = ${values.id})`,
        ),
    ),

    deleteFinal: statement<{ id: string }, never>('transactions_delete_final', (values) =>
      db
        .deleteFrom('transactions')
        .where('id', '=', values.id)
        .where((eb) => eb.not(isOpen())),
    ),

    moveOrdinal: statement<{ id: string; from: number; to: number }, never>('transactions_move_ordinal', (values) =>
      db.updateTable('transactions').set({ ordinal: values.to }).where('id', '=', values.id).where('ordinal', '=', values.from),
    ),

    openLanes: statement<object, LaneId>('transactions_open_lanes', () =>
      db.selectFrom('transactions').select(['chain', 'account']).distinct().where(isOpen()),
    ),
  };
}
