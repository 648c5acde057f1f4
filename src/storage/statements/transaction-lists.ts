import { setImmediate } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { type DomainError, invalidField } from '../../core/errors/errors.js';
import type { PageOf, PageQuery } from '../../core/ports/store/page.js';
import type { TransactionFilter, TransactionListReads } from '../../core/ports/store/transactions.js';
import type { LaneId } from '../../core/records/transaction.js';
import { finalStatuses, labelText, openStatuses, type TransactionStatus, type TransactionView } from '../../core/records/transaction.js';
import { type Walk, type Walked, walkOver } from '../sql/paging.js';
import type { Schema } from '../sql/schema.js';
import { numbered, paddedToPowerOfTwo, perCount, type Query, statement } from '../sql/statement.js';
import { type TransactionViewRow, transactionViews, viewFromRow } from './transaction-rows.js';
import type { transactionStatements } from './transactions.js';

interface StatusPage {
  readonly relayer_id: string;
  /** Rows from this `seq` on are left out. */
  readonly before: number;
  readonly limit: number;
  /** `status_0`, `status_1`, ... */
  readonly [status: `status_${number}`]: TransactionStatus;
}

/** A part of a list, newest first: rows from `from` on, before `before`. */
interface CandidatePage {
  readonly relayer_id: string;
  readonly from: number;
  readonly before: number;
  readonly limit: number;
}

/** What decides whether a transaction is in a filtered list. */
interface CandidateRow {
  readonly seq: number;
  readonly status: TransactionStatus;
  readonly created_at_ms: number;
}

/** Statements on the lists of a relayer's transactions. */
export function transactionListStatements(db: Kysely<Schema>) {
  const views = () => transactionViews(db);
  const candidates = ({ limit }: Pick<CandidatePage, 'limit'>) =>
    db.selectFrom('transactions').select(['transactions.seq', 'transactions.status', 'transactions.created_at_ms']).limit(limit);

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

    /** The newest transactions in a status between two positions, without their content. */
    candidatesInStatus: statement<CandidatePage & { status: TransactionStatus }, CandidateRow>('transactions_in_status', (values) =>
      candidates(values)
        .where('transactions.relayer_id', '=', values.relayer_id)
        .where('transactions.status', '=', values.status)
        .where('transactions.seq', '<', values.before)
        .where('transactions.seq', '>=', values.from)
        .orderBy('transactions.seq', 'desc'),
    ),

    /** The same with a label. */
    candidatesWithLabel: statement<CandidatePage & { label: string }, CandidateRow>('transactions_with_label', (values) =>
      candidates(values)
        .innerJoin('transaction_labels', 'transaction_labels.transaction_seq', 'transactions.seq')
        .where('transaction_labels.relayer_id', '=', values.relayer_id)
        .where('transaction_labels.label', '=', values.label)
        .where('transaction_labels.transaction_seq', '<', values.before)
        .where('transaction_labels.transaction_seq', '>=', values.from)
        .orderBy('transaction_labels.transaction_seq', 'desc'),
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
    bySeqs: perCount((count) => {
      const keys = Array.from({ length: count }, (_, index) => `seq_${index}` as const);
      return statement<Record<`seq_${number}`, number>, TransactionViewRow>(`transactions_by_seqs_${count}`, (values) =>
        views()
          .where(
            'transactions.seq',
            'in',
            keys.map((key) => values[key] as number),
          )
          .orderBy('transactions.seq', 'desc'),
      );
    }),

    /** The transactions of which an attempt has a hash. */
    idsOfHash: statement<{ hash: string; limit: number }, { id: string }>('transactions_of_hash', (values) =>
      db.selectFrom('attempts').select('transaction_id as id').distinct().where('hash', '=', values.hash).limit(values.limit),
    ),

    /** The transactions of which an attempt has a nonce. */
    idsOfSlot: statement<LaneId & { nonce: string; limit: number }, { id: string }>('transactions_of_slot', (values) =>
      db
        .selectFrom('attempts')
        .select('transaction_id as id')
        .distinct()
        .where('chain', '=', values.chain)
        .where('account', '=', values.account)
        .where('nonce', '=', values.nonce)
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
  };
}

interface Statements {
  readonly transactions: Pick<ReturnType<typeof transactionStatements>, 'position' | 'byId' | 'externalIdHolder'>;
  readonly transactionLists: ReturnType<typeof transactionListStatements>;
}

/** Queries of a relayer's transactions in pages. */
export function transactionListReads({ transactions, transactionLists: lists }: Statements, query: Query): TransactionListReads {
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
    filteredTransactions: filteredReads({ transactions, transactionLists: lists }, query),
  };
}

/** How many transactions of a filtered list are counted from the start of a page. */
const counted = 1_000;
/** Rows that one query reads, first and at most: SQLite answers in this thread. */
const firstStride = 256;
const maxStride = 4_000;
/** Rows that one list reads at most: a filter by label and by a status that few have could read all transactions of a relayer. */
const maxRead = 100_000;
/** By how much the clocks of instances may differ, and how long a commit may take, with room. */
const clockSlackMs = 120_000;
/** One hash or nonce has no more transactions than this. */
const maxNamed = 100;

/** Queries of filtered lists: through the index of the filter that selects most, and from there row by row. */
function filteredReads({ transactions, transactionLists: lists }: Statements, query: Query): TransactionListReads['filteredTransactions'] {
  /** Returns the ids of the transactions that a filter names; null: it names none, but says what they are like. */
  async function namedBy(relayerId: string, { externalId, hash, slot }: TransactionFilter): Promise<readonly string[] | null> {
    const idsOfHash = (form: string) => query(lists.idsOfHash, { hash: form, limit: maxNamed });
    const named = await Promise.all([
      externalId === undefined ? null : query(transactions.externalIdHolder, { relayer_id: relayerId, external_id: externalId }),
      hash === undefined ? null : Promise.all(formsOf(hash).map(idsOfHash)).then((found) => found.flat()),
      slot === undefined ? null : query(lists.idsOfSlot, { ...slot.lane, nonce: slot.nonce.toString(), limit: maxNamed }),
    ]);
    const [first, ...others] = named.flatMap((rows) => (rows === null ? [] : [new Set(rows.map(({ id }) => id))]));
    return first === undefined ? null : [...first].filter((id) => others.every((ids) => ids.has(id)));
  }

  async function listOf(
    ids: readonly string[],
    relayerId: string,
    filter: TransactionFilter,
    page: PageQuery,
  ): Promise<PageOf<TransactionView>> {
    const rows = (await Promise.all(ids.map((id) => query(transactions.byId, { id })))).flat();
    const items = rows
      .map(viewFromRow)
      .filter(({ transaction: { relayerId: owner, status, createdAtMs, tags } }) => {
        const hasLabel = filter.label === undefined || (tags?.labels ?? []).some((label) => labelText(label) === filter.label);
        return owner === relayerId && hasLabel && isWanted(filter, { status, created_at_ms: createdAtMs });
      })
      // The ids are ordered by time.
      .sort((left, right) => (left.transaction.id < right.transaction.id ? 1 : -1));
    const { after, offset, limit } = page;
    // The last transaction of the page before may have left the list.
    const rest = after === undefined ? items.slice(offset) : items.filter(({ transaction }) => transaction.id < after);
    return { items: rest.slice(0, limit), total: items.length };
  }

  /** Returns the first position at which transactions are accepted at a time or later. */
  async function seqAt(timeMs: number): Promise<number> {
    const [last] = await query(lists.lastUpTo, { seq: Number.MAX_SAFE_INTEGER });
    let [low, high] = [0, (last?.seq ?? 0) + 1];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const [row] = await query(lists.lastUpTo, { seq: middle });
      if (row !== undefined && row.created_at_ms >= timeMs) high = Math.min(middle, row.seq);
      else low = middle + 1;
    }
    return low;
  }

  return async (relayerId, filter, page) => {
    const ids = await namedBy(relayerId, filter);
    if (ids !== null) return listOf(ids, relayerId, filter, page);
    const { label, createdFromMs, createdBeforeMs, statuses } = filter;
    const from = createdFromMs === undefined ? 0 : await seqAt(createdFromMs - clockSlackMs);
    const end = createdBeforeMs === undefined ? Number.MAX_SAFE_INTEGER : await seqAt(createdBeforeMs + clockSlackMs);
    const sources = label === undefined ? [...(statuses.length === 0 ? [...openStatuses, ...finalStatuses] : new Set(statuses))] : [];
    const read = async (part: { readonly before: number; readonly limit: number }): Promise<readonly CandidateRow[]> => {
      const values = { relayer_id: relayerId, from, ...part };
      if (label !== undefined) return query(lists.candidatesWithLabel, { ...values, label });
      const rows = await Promise.all(sources.map((status) => query(lists.candidatesInStatus, { ...values, status })));
      return rows
        .flat()
        .sort((left, right) => right.seq - left.seq)
        .slice(0, part.limit);
    };
    let isCut = false;
    /** Returns the positions of at most `wanted` transactions of the list, newest first. The first `needed` must be found. */
    const walk = async (wanted: number, needed: number, start: number): Promise<number[]> => {
      const found: number[] = [];
      let left = maxRead;
      for (let before = start, limit = firstStride; found.length < wanted; limit = Math.min(4 * limit, maxStride)) {
        if (left < limit && found.length < needed) throw tooFewWanted(filter);
        isCut = left < limit;
        if (isCut) break;
        left -= limit;
        const rows = await read({ before, limit });
        found.push(...rows.filter((row) => isWanted(filter, row)).map(({ seq }) => seq));
        const last = rows.at(-1);
        if (rows.length < limit || last === undefined) break;
        before = last.seq;
        await setImmediate();
      }
      return found.slice(0, wanted);
    };
    const all = await walk(page.offset + counted + 1, page.after === undefined ? page.offset + page.limit : 0, end);
    const isCountCut = isCut;
    const [position] = page.after === undefined ? [] : await query(transactions.position, { id: page.after });
    const seqs =
      position === undefined
        ? all.slice(page.offset, page.offset + page.limit)
        : await walk(page.limit, page.limit, Math.min(end, position.seq));
    const isFull = all.length > page.offset + counted;
    const length = { total: isFull ? all.length - 1 : all.length, ...(isFull || isCountCut ? { hasMore: true as const } : {}) };
    if (seqs.length === 0) return { items: [], ...length };
    const padded = paddedToPowerOfTwo(seqs);
    return { items: (await query(lists.bySeqs(padded.length), numbered('seq', padded))).map(viewFromRow), ...length };
  };
}

function tooFewWanted({ label }: TransactionFilter): DomainError {
  return invalidField(
    label === undefined ? 'page' : 'label',
    `leads through more than ${maxRead} transactions, of which too few match; limit the list by created_after and created_before`,
  );
}

function isWanted(
  { statuses, createdFromMs = 0, createdBeforeMs = Number.MAX_SAFE_INTEGER }: TransactionFilter,
  { status, created_at_ms }: Omit<CandidateRow, 'seq'>,
): boolean {
  return (statuses.length === 0 || statuses.includes(status)) && created_at_ms >= createdFromMs && created_at_ms < createdBeforeMs;
}

/** A hash as each network writes it: EVM with `0x`, Stellar without. */
function formsOf(hash: string): readonly string[] {
  const [, digits] = /^(?:0x)?([0-9a-fA-F]{64})$/.exec(hash) ?? [];
  return digits === undefined ? [hash] : [`0x${digits.toLowerCase()}`, digits.toLowerCase()];
}
