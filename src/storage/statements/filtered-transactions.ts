import { type Kysely, sql } from 'kysely';
import { type DomainError, invalidField } from '../../core/errors/errors.js';
import type { PageOf, PageQuery } from '../../core/ports/store/page.js';
import type { TransactionFilter, TransactionListReads } from '../../core/ports/store/transactions.js';
import {
  finalStatuses,
  labelText,
  openStatuses,
  type TransactionStatus,
  type TransactionTags,
  type TransactionView,
} from '../../core/records/transaction.js';
import { merged, type Part } from '../sql/merged.js';
import type { Schema } from '../sql/schema.js';
import { numbered, paddedToPowerOfTwo, perCount, type Query, type Statement, statement } from '../sql/statement.js';
import { type TransactionViewRow, transactionViews, viewFromRow } from './transaction-rows.js';
import type { transactionStatements } from './transactions.js';

/** How many transactions of one relayer's list are counted from the start of a page. */
const counted = 1_000;
/** Rows that one list reads at most: a filter by label and by a status that few have could read all transactions of a relayer. */
const maxRead = 100_000;
/** By how much the clocks of instances may differ, and how long a commit may take, with room. */
const clockSlackMs = 120_000;
/** One hash or nonce has no more transactions than this. */
const maxNamed = 100;
/** A list of named transactions is read as a whole. The same external id or nonce may name one of each relayer. */
const maxListed = 200;
/** Relayers or accounts that one query names. */
const keysAtOnce = 128;
/** From this number of relayers on, a list first looks among the newest transactions of all relayers: many of them may be in it. */
const manyRelayers = 8;
/** How many times as many transactions as are wanted it looks at. */
const firstLook = 4;

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
  /** Exact JSON; only of a row that was found by its receiver. */
  readonly tags?: string | null;
}

interface SomeRelayers {
  readonly [relayer: `relayer_${number}`]: string;
}

interface NewestQuery extends SomeRelayers {
  readonly value: string;
  readonly before: number;
}

function relayersIn(values: SomeRelayers, count: number): string[] {
  return Array.from({ length: count }, (_, index) => values[`relayer_${index}`] as string);
}

/** Statements on filtered lists. */
export function filteredListStatements(db: Kysely<Schema>) {
  const candidates = ({ limit }: Pick<CandidatePage, 'limit'>) =>
    db.selectFrom('transactions').select(['transactions.seq', 'transactions.status', 'transactions.created_at_ms']).limit(limit);

  /** The newest position before another one among the rows of each relayer that have a value. */
  function newestOf(table: 'transactions' | 'transaction_receivers' | 'transaction_labels', by: 'status' | 'receiver' | 'label') {
    const position = table === 'transactions' ? 'seq' : 'transaction_seq';
    return perCount((count) =>
      statement<NewestQuery, { relayer_id: string; seq: number | null }>(`${table}_newest_by_${by}_${count}`, (values) =>
        db
          .selectFrom('change_positions')
          .select([
            'relayer_id',
            sql<
              number | null
            >`(select max(${sql.ref(position)}) from ${sql.table(table)} where ${sql.ref(`${table}.relayer_id`)} = change_positions.relayer_id and ${sql.ref(by)} = ${values.value} and ${sql.ref(position)} < ${values.before})`.as(
              'seq',
            ),
          ])
          .where('relayer_id', 'in', relayersIn(values, count)),
      ),
    );
  }

  return {
    /** The newest transactions in a status between two positions, without their content. */
    candidatesInStatus: statement<CandidatePage & { status: TransactionStatus }, CandidateRow>('transactions_in_status', (values) =>
      candidates(values)
        .where('transactions.relayer_id', '=', values.relayer_id)
        .where('transactions.status', '=', values.status)
        .where('transactions.seq', '<', values.before)
        .where('transactions.seq', '>=', values.from)
        .orderBy('transactions.seq', 'desc'),
    ),

    /** The same with a receiver, if it was the first when they were accepted. */
    candidatesWithFirstReceiver: statement<CandidatePage & { receiver: string }, CandidateRow>(
      'transactions_with_first_receiver',
      (values) =>
        candidates(values)
          .select('transactions.tags')
          .where('transactions.relayer_id', '=', values.relayer_id)
          .where('transactions.receiver', '=', values.receiver)
          .where('transactions.seq', '<', values.before)
          .where('transactions.seq', '>=', values.from)
          .orderBy('transactions.seq', 'desc'),
    ),

    /** The same with a receiver that they had besides or later. */
    candidatesWithReceiver: statement<CandidatePage & { receiver: string }, CandidateRow>('transactions_with_receiver', (values) =>
      candidates(values)
        .select('transactions.tags')
        .innerJoin('transaction_receivers', 'transaction_receivers.transaction_seq', 'transactions.seq')
        .where('transaction_receivers.relayer_id', '=', values.relayer_id)
        .where('transaction_receivers.receiver', '=', values.receiver)
        .where('transaction_receivers.transaction_seq', '<', values.before)
        .where('transaction_receivers.transaction_seq', '>=', values.from)
        .orderBy('transaction_receivers.transaction_seq', 'desc'),
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

    /** The newest transactions of all relayers between two positions. */
    newest: statement<Omit<CandidatePage, 'relayer_id'>, CandidateRow & { readonly relayer_id: string }>('transactions_newest', (values) =>
      candidates(values)
        .select('transactions.relayer_id')
        .where('transactions.seq', '<', values.before)
        .where('transactions.seq', '>=', values.from)
        .orderBy('transactions.seq', 'desc'),
    ),

    newestInStatus: newestOf('transactions', 'status'),
    newestWithFirstReceiver: newestOf('transactions', 'receiver'),
    newestWithReceiver: newestOf('transaction_receivers', 'receiver'),
    newestWithLabel: newestOf('transaction_labels', 'label'),

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
    bySeqs: perCount((count) => {
      const keys = Array.from({ length: count }, (_, index) => `seq_${index}` as const);
      return statement<Record<`seq_${number}`, number>, TransactionViewRow>(`transactions_by_seqs_${count}`, (values) =>
        transactionViews(db)
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

/** The statements that filtered lists need. */
export interface FilteredStatements {
  readonly transactions: Pick<ReturnType<typeof transactionStatements>, 'position' | 'byId'>;
  readonly filteredLists: ReturnType<typeof filteredListStatements>;
}

/** Queries of filtered lists: through the index of the filter that selects most, and from there row by row. */
export function filteredReads(
  { transactions, filteredLists: lists }: FilteredStatements,
  query: Query,
): TransactionListReads['filteredTransactions'] {
  /** Asks for some keys at a time, one query after the other. */
  async function perSome<T>(ids: readonly string[], ask: (some: readonly string[]) => Promise<readonly T[]>): Promise<T[]> {
    const found: T[] = [];
    for (let from = 0; from < ids.length; from += keysAtOnce)
      found.push(...(await ask(paddedToPowerOfTwo(ids.slice(from, from + keysAtOnce)))));
    return found;
  }

  /** Returns the ids of the transactions that a filter names; null: it names none, but says what they are like. */
  async function namedBy(relayerIds: readonly string[], { externalId, hash, slots }: TransactionFilter): Promise<readonly string[] | null> {
    const idsOfHash = (form: string) => query(lists.idsOfHash, { hash: form, limit: maxNamed });
    const idsOfExternalId = (externalIdText: string) =>
      perSome(relayerIds, (some) =>
        query(lists.idsOfExternalId(some.length), { ...numbered('relayer', some), external_id: externalIdText }),
      );
    const idsOfSlots = async ({ lanes, nonce }: NonNullable<TransactionFilter['slots']>) => {
      const found: { id: string }[] = [];
      for (const chain of new Set(lanes.map((lane) => lane.chain))) {
        const accounts = lanes.flatMap((lane) => (lane.chain === chain ? [lane.account] : []));
        const values = { chain, nonce: nonce.toString(), limit: maxListed + 1 };
        found.push(
          ...(await perSome(accounts, (some) => query(lists.idsOfSlots(some.length), { ...values, ...numbered('account', some) }))),
        );
      }
      return found;
    };
    const named = await Promise.all([
      externalId === undefined ? null : idsOfExternalId(externalId),
      hash === undefined ? null : Promise.all(formsOf(hash).map(idsOfHash)).then((found) => found.flat()),
      slots === undefined ? null : idsOfSlots(slots),
    ]);
    const [first, ...others] = named.flatMap((rows) => (rows === null ? [] : [new Set(rows.map(({ id }) => id))]));
    return first === undefined ? null : [...first].filter((id) => others.every((ids) => ids.has(id)));
  }

  async function listOf(
    ids: readonly string[],
    relayerIds: readonly string[],
    filter: TransactionFilter,
    page: PageQuery,
  ): Promise<PageOf<TransactionView>> {
    if (ids.length > maxListed) throw tooManyNamed(filter);
    const owners = new Set(relayerIds);
    const { receiver } = filter;
    const rows = await Promise.all(
      ids.map(async (id) =>
        receiver !== undefined && (await query(lists.ofReceiver, { id, receiver })).length === 0 ? [] : query(transactions.byId, { id }),
      ),
    );
    const items = rows
      .flat()
      .map(viewFromRow)
      .filter(({ transaction: { relayerId, status, createdAtMs, tags } }) => {
        return owners.has(relayerId) && hasLabel(filter, tags) && isWanted(filter, { status, created_at_ms: createdAtMs });
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

  /** Returns the parts of a list that an index shows: of each relayer by the filter that selects most. */
  async function partsOf(
    relayerIds: readonly string[],
    filter: TransactionFilter,
    from: number,
    before: number,
  ): Promise<Part<CandidateRow>[]> {
    const partsBy = async <K extends 'status' | 'receiver' | 'label', V extends string>(
      newest: (typeof lists)['newestInStatus'],
      rows: Statement<CandidatePage & Record<K, V>, CandidateRow>,
      key: K,
      value: V,
    ) => {
      const found = await perSome(relayerIds, (some) => query(newest(some.length), { ...numbered('relayer', some), value, before }));
      return found.flatMap(({ relayer_id, seq }): Part<CandidateRow>[] => {
        if (seq === null || seq < from) return [];
        const values = { relayer_id, from, [key]: value } as Omit<CandidatePage, 'before' | 'limit'> & Record<K, V>;
        return [{ newest: seq, read: (range) => query(rows, { ...values, ...range }) }];
      });
    };
    const { label, receiver, statuses } = filter;
    const wanted = statuses.length === 0 ? [...openStatuses, ...finalStatuses] : [...new Set(statuses)];
    const parts =
      receiver !== undefined
        ? [
            partsBy(lists.newestWithFirstReceiver, lists.candidatesWithFirstReceiver, 'receiver', receiver),
            partsBy(lists.newestWithReceiver, lists.candidatesWithReceiver, 'receiver', receiver),
          ]
        : label !== undefined
          ? [partsBy(lists.newestWithLabel, lists.candidatesWithLabel, 'label', label)]
          : wanted.map((status) => partsBy(lists.newestInStatus, lists.candidatesInStatus, 'status', status));
    return (await Promise.all(parts)).flat();
  }

  return async (relayerIds, filter, page) => {
    const ids = await namedBy(relayerIds, filter);
    if (ids !== null) return listOf(ids, relayerIds, filter, page);
    const { createdFromMs, createdBeforeMs } = filter;
    const from = createdFromMs === undefined ? 0 : await seqAt(createdFromMs - clockSlackMs);
    const end = createdBeforeMs === undefined ? Number.MAX_SAFE_INTEGER : await seqAt(createdBeforeMs + clockSlackMs);
    /** Returns the positions of at most `wanted` transactions of the list, newest first. The first `needed` must be found. */
    const walk = async (wanted: number, needed: number, start: number) => {
      const isDense = relayerIds.length >= manyRelayers && filter.label === undefined && filter.receiver === undefined;
      const newest = isDense ? await query(lists.newest, { from, before: start, limit: firstLook * wanted }) : [];
      const owners = new Set(relayerIds);
      const seqs = newest.filter((row) => owners.has(row.relayer_id) && isWanted(filter, row)).map(({ seq }) => seq);
      if (seqs.length >= wanted || (isDense && newest.length < firstLook * wanted)) return { seqs: seqs.slice(0, wanted), isCut: false };
      const rows = merged(await partsOf(relayerIds, filter, from, newest.at(-1)?.seq ?? start), maxRead);
      for (;;) {
        const next = await rows.next();
        if (next.done === true) {
          if (next.value && seqs.length < needed) throw tooFewWanted(filter);
          return { seqs, isCut: next.value };
        }
        const { value: row } = next;
        const { seq } = row;
        // A receiver may be noted twice.
        if (seq === seqs.at(-1) || !isWanted(filter, row)) continue;
        if (row.tags !== undefined && !hasLabel(filter, tagsFrom(row.tags))) continue;
        seqs.push(seq);
        if (seqs.length === wanted) return { seqs, isCut: false };
      }
    };
    const { after, offset, limit } = page;
    const [position] = after === undefined ? [] : await query(transactions.position, { id: after });
    const start = Math.min(end, position?.seq ?? end);
    const isOfOne = relayerIds.length === 1;
    const horizon = isOfOne ? counted : limit;
    const all = await walk(offset + horizon + 1, position === undefined ? offset + limit : 0, isOfOne ? end : start);
    const found = position === undefined || !isOfOne ? all.seqs : (await walk(limit, limit, start)).seqs;
    const seqs = found.slice(offset, offset + limit);
    const isFull = all.seqs.length > offset + horizon;
    const length = {
      total: isFull ? all.seqs.length - 1 : all.seqs.length,
      ...(isFull || all.isCut ? { hasMore: true as const } : {}),
    };
    if (seqs.length === 0) return { items: [], ...length };
    const padded = paddedToPowerOfTwo(seqs);
    return { items: (await query(lists.bySeqs(padded.length), numbered('seq', padded))).map(viewFromRow), ...length };
  };
}

function tagsFrom(text: string | null): TransactionTags | null {
  return text === null ? null : (JSON.parse(text) as TransactionTags);
}

function hasLabel({ label }: TransactionFilter, tags: TransactionTags | null): boolean {
  return label === undefined || (tags?.labels ?? []).some((one) => labelText(one) === label);
}

function tooManyNamed({ externalId, hash }: TransactionFilter): DomainError {
  const field = externalId !== undefined ? 'external_id' : hash !== undefined ? 'hash' : 'nonce';
  return invalidField(field, `names more than ${maxListed} transactions; list the transactions of one relayer`);
}

function tooFewWanted({ label, receiver }: TransactionFilter): DomainError {
  return invalidField(
    receiver !== undefined ? 'to' : label === undefined ? 'page' : 'label',
    `leads through more than ${maxRead} transactions, of which too few match; limit the list by created_after and created_before`,
  );
}

function isWanted(
  { statuses, createdFromMs = 0, createdBeforeMs = Number.MAX_SAFE_INTEGER }: TransactionFilter,
  { status, created_at_ms }: { readonly status: TransactionStatus; readonly created_at_ms: number },
): boolean {
  return (statuses.length === 0 || statuses.includes(status)) && created_at_ms >= createdFromMs && created_at_ms < createdBeforeMs;
}

/** A hash as each network writes it: EVM with `0x`, Stellar without. */
function formsOf(hash: string): readonly string[] {
  const [, digits] = /^(?:0x)?([0-9a-fA-F]{64})$/.exec(hash) ?? [];
  return digits === undefined ? [hash] : [`0x${digits.toLowerCase()}`, digits.toLowerCase()];
}
