import { type Kysely, sql } from 'kysely';
import type { PageOf, PageQuery } from '../../core/ports/store/page.js';
import type { TransactionListReads } from '../../core/ports/store/transactions.js';
import { finalStatuses, openStatuses, type TransactionStatus, type TransactionView } from '../../core/records/transaction.js';
import { type Walk, type Walked, walkOver } from '../sql/paging.js';
import type { Schema } from '../sql/schema.js';
import { numbered, perCount, type Query, statement } from '../sql/statement.js';
import { type FilteredStatements, filteredReads } from './filtered-transactions.js';
import { type TransactionViewRow, transactionViews, viewFromRow } from './transaction-rows.js';

interface StatusPage {
  readonly relayer_id: string;
  /** Rows from this `seq` on are left out. */
  readonly before: number;
  readonly limit: number;
  /** `status_0`, `status_1`, ... */
  readonly [status: `status_${number}`]: TransactionStatus;
}

/** Statements on the lists of a relayer's transactions. */
export function transactionListStatements(db: Kysely<Schema>) {
  const views = () => transactionViews(db);
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
    /** The lowest and the highest ordinal, each read from one end of the index. */
    ordinals: statement<{ relayer_id: string }, { first: number | null; last: number | null }>('transactions_ordinals', (values) => {
      const ordinals = db.selectFrom('transactions').where('relayer_id', '=', values.relayer_id);
      return db.selectNoFrom([
        ordinals.select((inner) => inner.fn.min('ordinal').as('first')).as('first'),
        ordinals.select((inner) => inner.fn.max('ordinal').as('last')).as('last'),
      ]);
    }),

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
      finalStatuses
        .map((status) =>
          db.selectNoFrom([
            sql.lit<TransactionStatus>(status).as('status'),
            sql<number>`coalesce((select total from finished_totals where relayer_id = ${values.relayer_id} and status = ${sql.lit(status)} order by version desc limit 1), 0)`.as(
              'total',
            ),
          ]),
        )
        .reduce(
          (all, one) => all.unionAll(one),
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
  };
}

interface ListStatements extends FilteredStatements {
  readonly transactionLists: ReturnType<typeof transactionListStatements>;
}

/** Queries of a relayer's transactions in pages. */
export function transactionListReads(statements: ListStatements, query: Query): TransactionListReads {
  const { transactions, transactionLists: lists } = statements;
  /** A transaction accepted between the two reads is missing; one removed between them still counts in the total. */
  async function allOf(relayerId: string, { offset, limit, after }: PageQuery): Promise<PageOf<TransactionView>> {
    const [ordinals] = await query(lists.ordinals, { relayer_id: relayerId });
    const last = ordinals?.last ?? 0;
    const total = last - (ordinals?.first ?? 1) + 1;
    if (offset >= total) return { items: [], total };
    const [position] = after === undefined ? [] : await query(transactions.position, { id: after });
    const highest = position === undefined ? last - offset : position.ordinal - 1;
    const rows = await query(lists.page, { relayer_id: relayerId, highest, limit });
    return { items: rows.map(viewFromRow), total };
  }

  /** Total and page are two reads: a change between them may show in the page only. */
  async function someOf(relayerId: string, statuses: ReadonlySet<TransactionStatus>, page: PageQuery): Promise<PageOf<TransactionView>> {
    const { offset, limit, after } = page;
    const totals = await query(lists.totals, { relayer_id: relayerId });
    const total = totals.filter((row) => statuses.has(row.status)).reduce((sum, row) => sum + row.total, 0);
    if (offset >= total) return { items: [], total };
    const values = { ...numbered('status', [...statuses]), relayer_id: relayerId };
    const walk: Walk = (part) => query(lists.walkStatuses(statuses.size), { ...values, ...part });
    const [position] = after === undefined ? [] : await query(transactions.position, { id: after });
    const before = position === undefined ? (await walkOver(walk, offset)).before : position.seq;
    const rows = await query(lists.pageOfStatuses(statuses.size), { ...values, before, limit });
    return { items: rows.map(viewFromRow), total };
  }

  return {
    transactionsOf: (relayerId, statuses, page) =>
      statuses.length === 0 ? allOf(relayerId, page) : someOf(relayerId, new Set(statuses), page),
    filteredTransactions: filteredReads(statements, query),
  };
}
