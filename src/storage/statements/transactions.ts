import { type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely';
import type { TransactionChanges, TransactionReads } from '../../core/ports/store/transactions.js';
import {
  type Approval,
  type Attempt,
  finalStatuses,
  isFinal,
  type LaneId,
  labelText,
  type OpenTransaction,
  type TransactionStatus,
} from '../../core/records/transaction.js';
import { BoundChange, guarded, step } from '../sql/bound-change.js';
import { exactJson } from '../sql/record-mapping.js';
import type { Flag, Schema } from '../sql/schema.js';
import { numbered, paddedToPowerOfTwo, perCount, pick, type Query, statement } from '../sql/statement.js';
import type { attemptStatements } from './attempts.js';
import type { eventStatements } from './events.js';
import type { changePositionStatements } from './feed.js';
import type { spendingStatements } from './spending.js';
import {
  attemptFromJoinedRow,
  attemptSelection,
  isOpen,
  isOpenById,
  rowFromTransaction,
  type TransactionRow,
  type TransactionViewRow,
  transactionColumns,
  transactionFromRow,
  transactionSelection,
  transactionViews,
  viewFromRow,
  type WrittenRow,
} from './transaction-rows.js';

const approvalColumn = exactJson('approval');

interface OldestRow {
  readonly id: string;
  readonly ordinal: number;
  readonly ended_at_ms: number | null;
  readonly is_needed: Flag;
}

// The owner of a transaction never changes.
const changingColumns = transactionColumns.filter(
  (column) =>
    column !== 'id' &&
    column !== 'relayer_id' &&
    column !== 'chain' &&
    column !== 'account' &&
    column !== 'created_at_ms' &&
    column !== 'trace_parent' &&
    column !== 'tags',
);
/** Statements on transactions and their totals. */
export function transactionStatements(db: Kysely<Schema>) {
  /** The next position among the changes of a relayer, which the batch has locked. */
  const nextPosition = ({ relayer_id }: Pick<TransactionRow, 'relayer_id'>) =>
    sql<number>`(select max(taken.position) + 1 from (select change_positions.position from change_positions where change_positions.relayer_id = ${relayer_id} union all select max(latest.position) from transactions as latest where latest.relayer_id = ${relayer_id}) as taken)`;

  /** The version of the total that counts a transaction in a status; null: none does yet. */
  const totalVersion = (status: RawBuilder<TransactionStatus>) =>
    sql<
      number | null
    >`(select max(newest.version) from finished_totals as newest where newest.relayer_id = transactions.relayer_id and newest.status = ${status})`;

  /** Adds one to the total of a transaction's relayer and a status. The batch has locked the relayer, so that no other writer does. */
  const addToTotal = (id: string, status: RawBuilder<TransactionStatus>, condition: RawBuilder<SqlBool>) =>
    db
      .insertInto('finished_totals')
      .columns(['relayer_id', 'status', 'version', 'total'])
      .expression(
        db
          .selectFrom('transactions')
          .select([
            'relayer_id',
            status.as('status'),
            sql<number>`coalesce(${totalVersion(status)}, 0)`.as('version'),
            sql.lit(1).as('total'),
          ])
          .where('id', '=', id)
          .where(condition),
      )
      .onConflict((conflict) =>
        conflict.columns(['relayer_id', 'status', 'version']).doUpdateSet((eb) => ({
          version: eb('finished_totals.version', '+', sql.lit(1)),
          total: eb('finished_totals.total', '+', eb.ref('excluded.total')),
        })),
      );

  return {
    /**
     * The position of a closed relayer is null, which the column refuses. SQLite would keep the rows of a select in a table of their own
     * first.
     */
    insert: statement<WrittenRow & { readonly receiver: string | null }, never>('transactions_insert', (values) =>
      db.insertInto('transactions').values({
        ...pick(values, [...transactionColumns, 'ended_at_ms', 'receiver']),
        ordinal: sql<number>`coalesce((select max(ordinal) from transactions where relayer_id = ${values.relayer_id}), 0) + 1`,
        position: sql<number>`case when (select change_positions.is_closed from change_positions where change_positions.relayer_id = ${values.relayer_id}) = 0 then ${nextPosition(values)} end`,
      }),
    ),

    /** Writes a transaction that stays open; affects no row if it is final. */
    update: statement<WrittenRow, never>('transactions_update', (values) =>
      db
        .updateTable('transactions')
        .set({ ...pick(values, changingColumns), position: nextPosition(values) })
        .where('id', '=', values.id)
        .where('revision', '=', values.revision_before)
        .where(isOpenById()),
    ),

    /**
     * Writes a transaction that is final then. Keeps its end if it had one, and refuses to change a final status: the totals depend on it.
     */
    finish: statement<WrittenRow, never>('transactions_finish', (values) =>
      db
        .updateTable('transactions')
        .set({
          ...pick(values, changingColumns),
          position: nextPosition(values),
          ended_at_ms: sql<number>`coalesce(transactions.ended_at_ms, ${values.ended_at_ms})`,
        })
        .where('id', '=', values.id)
        .where('revision', '=', values.revision_before)
        .where((eb) => eb.or([isOpen(), eb('status', '=', values.status)])),
    ),

    /** Counts a transaction that leaves the open statuses; runs before its update. */
    addFinished: statement<TransactionRow, never>('finished_totals_add', (values) =>
      addToTotal(values.id, sql<TransactionStatus>`${values.status}`, isOpenById()),
    ),

    /** Counts a transaction that is inserted with a final status; runs after its insert. */
    addInserted: statement<TransactionRow, never>('finished_totals_add_inserted', (values) =>
      addToTotal(values.id, sql<TransactionStatus>`${values.status}`, sql<SqlBool>`1 = 1`),
    ),

    byId: statement<{ id: string }, TransactionViewRow>('transactions_by_id', (values) =>
      transactionViews(db).where('transactions.id', '=', values.id),
    ),

    /** Where a transaction is in the lists of its relayer. */
    position: statement<{ id: string }, { ordinal: number; seq: number }>('transactions_position', (values) =>
      db.selectFrom('transactions').select(['ordinal', 'seq']).where('id', '=', values.id),
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

    waitingApprovals: statement<LaneId & { limit: number }, Pick<TransactionRow, 'approval'>>('transactions_waiting_approvals', (values) =>
      db
        .selectFrom('transactions')
        .select('approval')
        .where('chain', '=', values.chain)
        .where('account', '=', values.account)
        .where(isOpen())
        .where('status', '=', sql.lit('pending'))
        .where('approval', 'is not', null)
        .limit(values.limit),
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
      db
        .selectFrom('change_positions')
        .select('relayer_id')
        // A limit keeps PostgreSQL from joining all transactions.
        .where(
          (eb) =>
            eb
              .selectFrom('transactions')
              .select('transactions.seq')
              .whereRef('transactions.relayer_id', '=', 'change_positions.relayer_id')
              .where(
                'transactions.status',
                'in',
                finalStatuses.map((status) => sql.lit(status)),
              )
              .limit(sql.lit(1)),
          'is not',
          null,
        ),
    ),

    /** A relayer's oldest transactions. `is_needed`: an open one has an attempt in the same slot, or it holds reservations of limits. */
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
              eb.or([
                eb.exists(
                  eb
                    .selectFrom('spend_reservations')
                    .select(sql.lit(1).as('one'))
                    .whereRef('spend_reservations.transaction_id', '=', 'transactions.id'),
                ),
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
                    .where(isOpenById('open')),
                ),
              ]),
            )
            .then(sql.lit<Flag>(1))
            .else(sql.lit<Flag>(0))
            .end()
            .as('is_needed'),
        ])
        .where('relayer_id', '=', values.relayer_id)
        .orderBy('ordinal')
        .limit(values.limit),
    ),

    /** Subtracts a transaction from its total; runs before the transaction is deleted. */
    subtractFinished: statement<{ id: string }, never>('finished_totals_subtract', (values) =>
      db
        .updateTable('finished_totals')
        .set((eb) => ({ version: eb('version', '+', sql.lit(1)), total: eb('total', '-', sql.lit(1)) }))
        .where(
          sql<boolean>`(relayer_id, status, version) = (select transactions.relayer_id, transactions.status, ${totalVersion(sql.ref('transactions.status'))} from transactions where transactions.id = ${values.id})`,
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

    claimExternalId: statement<Schema['external_ids'], never>('external_ids_claim', (values) =>
      db.insertInto('external_ids').values(pick(values, ['relayer_id', 'external_id', 'transaction_id'])),
    ),

    externalIdHolder: statement<Pick<Schema['external_ids'], 'relayer_id' | 'external_id'>, { id: string }>(
      'external_ids_holder',
      (values) =>
        db
          .selectFrom('external_ids')
          .select('transaction_id as id')
          .where('relayer_id', '=', values.relayer_id)
          .where('external_id', '=', values.external_id),
    ),

    /** Runs after the insert of its transaction. */
    insertLabel: statement<{ id: string; label: string }, never>('transaction_labels_insert', (values) =>
      db
        .insertInto('transaction_labels')
        .columns(['relayer_id', 'label', 'transaction_seq'])
        .expression(
          db
            .selectFrom('transactions')
            .select(['relayer_id', sql<string>`cast(${values.label} as text)`.as('label'), 'seq'])
            .where('id', '=', values.id),
        ),
    ),

    /** Runs before its transaction is deleted. */
    deleteLabelsOf: statement<{ id: string }, never>('transaction_labels_delete_of', (values) =>
      db
        .deleteFrom('transaction_labels')
        .where('transaction_seq', '=', db.selectFrom('transactions').select('seq').where('id', '=', values.id)),
    ),

    /** Runs after the insert of its transaction. */
    insertReceiver: statement<{ id: string; receiver: string }, never>('transaction_receivers_insert', (values) =>
      db
        .insertInto('transaction_receivers')
        .columns(['relayer_id', 'receiver', 'transaction_seq'])
        .expression(
          db
            .selectFrom('transactions')
            .select(['relayer_id', sql<string>`cast(${values.receiver} as text)`.as('receiver'), 'seq'])
            .where('id', '=', values.id),
        )
        .onConflict((conflict) => conflict.doNothing()),
    ),

    /** Runs before its transaction is deleted. */
    deleteReceiversOf: statement<{ id: string }, never>('transaction_receivers_delete_of', (values) =>
      db
        .deleteFrom('transaction_receivers')
        .where('transaction_seq', '=', db.selectFrom('transactions').select('seq').where('id', '=', values.id)),
    ),

    openLanes: statement<object, LaneId>('transactions_open_lanes', () =>
      db.selectFrom('transactions').select(['chain', 'account']).distinct().where(isOpen()),
    ),
  };
}

type Statements = ReturnType<typeof transactionStatements>;

/** Gathers rows, one per attempt and ordered by transaction, into one item per transaction. */
function openFromRows(rows: readonly TransactionViewRow[]): OpenTransaction[] {
  const open: OpenTransaction[] = [];
  let attempts: Attempt[] = [];
  for (const row of rows) {
    if (open.at(-1)?.transaction.id !== row.id) {
      attempts = [];
      open.push({ transaction: transactionFromRow(row), attempts });
    }
    const attempt = attemptFromJoinedRow(row);
    if (attempt !== null) attempts.push(attempt);
  }
  return open;
}

/** Queries of transactions. */
export function transactionReads(transactions: Statements, query: Query): TransactionReads {
  return {
    transaction: async (id) => (await query(transactions.byId, { id })).map(viewFromRow)[0],
    relayersWithFinished: async () => (await query(transactions.relayers, {})).map((row) => row.relayer_id),
    oldestTransactions: async (relayerId, limit) => {
      const rows = await query(transactions.oldest, { relayer_id: relayerId, limit });
      return rows.map((row) => ({ id: row.id, place: row.ordinal, endedAtMs: row.ended_at_ms, isNeeded: row.is_needed === 1 }));
    },
    openTransactions: async ({ chain, account }, { after, limit } = { limit: Number.MAX_SAFE_INTEGER }) => {
      const [position] = after === undefined ? [] : await query(transactions.position, { id: after });
      return openFromRows(await query(transactions.openOfLane, { chain, account, after_seq: position?.seq ?? 0, limit }));
    },
    transactionsById: async (ids) => {
      if (ids.length === 0) return [];
      const padded = paddedToPowerOfTwo(ids);
      return openFromRows(await query(transactions.byIds(padded.length), numbered('id', padded)));
    },
    waitingCount: async ({ chain, account }, limit) => (await query(transactions.waitingCount, { chain, account, limit }))[0]?.total ?? 0,
    waitingApprovals: async ({ chain, account }, limit) =>
      (await query(transactions.waitingApprovals, { chain, account, limit })).flatMap(({ approval }) =>
        approval === null ? [] : [approvalColumn.read(approval) as Approval],
      ),
    openSummaries: async ({ chain, account }) =>
      (await query(transactions.openSummaries, { chain, account })).map(({ id, relayer_id, status, intent, revision }) => ({
        id,
        relayerId: relayer_id,
        status,
        intent,
        revision,
      })),
    openLanes: () => query(transactions.openLanes, {}),
    externalIdHolder: async (relayerId, externalId) =>
      (await query(transactions.externalIdHolder, { relayer_id: relayerId, external_id: externalId }))[0]?.id,
  };
}

/** The statements that changes of transactions are made of. */
interface ChangeStatements {
  readonly transactions: Statements;
  readonly attempts: Pick<ReturnType<typeof attemptStatements>, 'deleteOf'>;
  readonly events: Pick<ReturnType<typeof eventStatements>, 'deleteFinishedOf'>;
  readonly changePositions: ReturnType<typeof changePositionStatements>;
  readonly spending: Pick<ReturnType<typeof spendingStatements>, 'deleteReservationsOf' | 'deleteWindowsOf'>;
}

/** Changes of transactions. */
export function transactionChanges({ transactions, attempts, events, changePositions, spending }: ChangeStatements): TransactionChanges {
  const receiverSteps = (id: string, receivers: readonly string[]) =>
    receivers.map((receiver) => step(transactions.insertReceiver, { id, receiver }));
  return {
    insertTransaction(transaction, [receiver = null, ...others] = []) {
      const isEnded = isFinal(transaction.status);
      const row = Object.assign(rowFromTransaction(transaction, null, isEnded ? transaction.updatedAtMs : null), { receiver });
      const labels = (transaction.tags?.labels ?? []).map((label) =>
        guarded(transactions.insertLabel, { id: row.id, label: labelText(label) }),
      );
      const steps = [guarded(transactions.insert, row), ...labels, ...receiverSteps(row.id, others)];
      return new BoundChange('insertTransaction', isEnded ? [...steps, step(transactions.addInserted, row)] : steps, row.relayer_id);
    },
    noteReceivers: (id, receivers) => new BoundChange('noteReceivers', receiverSteps(id, receivers)),
    claimExternalId: ({ id, relayerId }, externalId) =>
      new BoundChange('claimExternalId', [
        guarded(transactions.claimExternalId, { relayer_id: relayerId, external_id: externalId, transaction_id: id }),
      ]),
    updateTransaction(next, { revisionBefore = next.revision - 1, endedAtMs = next.updatedAtMs } = {}) {
      const row = rowFromTransaction(next, revisionBefore, endedAtMs);
      const steps = isFinal(next.status)
        ? [step(transactions.addFinished, row), guarded(transactions.finish, row)]
        : [guarded(transactions.update, row)];
      return new BoundChange('updateTransaction', steps, row.relayer_id);
    },
    removeTransaction: ({ id, relayerId }) =>
      new BoundChange(
        'removeTransaction',
        [
          step(changePositions.noteRemoved, { id }),
          step(changePositions.keepLast, { id }),
          step(transactions.subtractFinished, { id }),
          step(transactions.deleteLabelsOf, { id }),
          step(transactions.deleteReceiversOf, { id }),
          step(attempts.deleteOf, { transaction_id: id }),
          step(events.deleteFinishedOf, { order_key: id }),
          guarded(transactions.deleteFinal, { id }),
        ],
        relayerId,
      ),
    moveTransaction: (id, from, to) => new BoundChange('moveTransaction', [guarded(transactions.moveOrdinal, { id, from, to })]),
    closeRelayer: (id) =>
      // The lock keeps sends of other instances away.
      new BoundChange(
        'closeRelayer',
        [
          guarded(changePositions.close, { relayer_id: id }),
          step(spending.deleteReservationsOf, { relayer_id: id }),
          step(spending.deleteWindowsOf, { relayer_id: id }),
        ],
        id,
      ),
    reopenRelayer: (id) => new BoundChange('reopenRelayer', [step(changePositions.reopen, { relayer_id: id })]),
  };
}
