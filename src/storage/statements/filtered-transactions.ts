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
import { numbered, paddedToPowerOfTwo, type Query } from '../sql/statement.js';
import type { filteredListStatements } from './filtered-statements.js';
import { viewFromRow } from './transaction-rows.js';
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
const keysAtOnce = 512;
/** From this number of relayers on, a list first looks among the newest transactions of all relayers: many of them may be in it. */
const manyRelayers = 8;
/** How many positions the first look at all parts of a list reads, and at each part at least. */
const firstPositions = 256;
const leastFirst = 4;
/** How many transactions are read together if an index alone does not show whether a list has them. */
const readTogether = 512;
/** How many times as many transactions as are wanted it looks at. */
const firstLook = 4;

/** The place of a transaction in the order of acceptance. */
interface Position {
  readonly seq: number;
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

  /** Returns the parts of a list that an index shows, with their first positions: of each relayer by the filter that selects most. */
  async function partsOf(
    relayerIds: readonly string[],
    { label, receiver, statuses }: TransactionFilter,
    from: number,
    before: number,
  ): Promise<Part<Position>[]> {
    const wanted = statuses.length === 0 ? [...openStatuses, ...finalStatuses] : [...new Set(statuses)];
    const indexes =
      receiver !== undefined
        ? ([
            [lists.byFirstReceiver, receiver],
            [lists.byReceiver, receiver],
          ] as const)
        : label !== undefined
          ? ([[lists.byLabel, label]] as const)
          : wanted.map((status) => [lists.byStatus, status] as const);
    const limit = Math.max(leastFirst, Math.floor(firstPositions / (relayerIds.length * indexes.length)));
    const parts = indexes.map(async ([positions, value]): Promise<Part<Position>[]> => {
      const ask = (some: readonly string[], range: { readonly before: number; readonly limit: number }) =>
        query(positions(some.length), { ...numbered('relayer', some), value, from, ...range });
      const found = new Map<string, Position[]>();
      for (const row of await perSome(relayerIds, (some) => ask(some, { before, limit })))
        found.set(row.relayer_id, [...(found.get(row.relayer_id) ?? []), row]);
      return [...found].map(([relayer, first]) => ({
        first: newestFirst(first),
        isWhole: first.length < limit,
        read: async (range) => newestFirst(await ask([relayer], range)),
      }));
    });
    return (await Promise.all(parts)).flat();
  }

  /** Returns the positions, among these, whose transactions are in the list. */
  async function fitting(seqs: readonly number[], filter: TransactionFilter): Promise<readonly number[]> {
    if (seqs.length === 0) return [];
    const padded = paddedToPowerOfTwo(seqs);
    const rows = await query(lists.candidatesBySeqs(padded.length), numbered('seq', padded));
    return rows.filter((row) => isWanted(filter, row) && hasLabel(filter, tagsFrom(row.tags))).map(({ seq }) => seq);
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
      const positions = merged(await partsOf(relayerIds, filter, from, newest.at(-1)?.seq ?? start), maxRead);
      let last = 0;
      for (;;) {
        const some: number[] = [];
        const most = isIndexed(filter) ? wanted - seqs.length : readTogether;
        let next = await positions.next();
        for (; next.done !== true; next = await positions.next()) {
          // A receiver may be noted twice.
          if (next.value.seq !== last) some.push(next.value.seq);
          last = next.value.seq;
          if (some.length === most) break;
        }
        seqs.push(...(isIndexed(filter) ? some : await fitting(some, filter)));
        if (seqs.length >= wanted) return { seqs: seqs.slice(0, wanted), isCut: false };
        if (next.done !== true) continue;
        if (next.value && seqs.length < needed) throw tooFewWanted(filter);
        return { seqs, isCut: next.value };
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

/** True if the index that selects most shows all that the filter asks for. */
function isIndexed({ label, receiver, statuses, createdFromMs, createdBeforeMs }: TransactionFilter): boolean {
  if (createdFromMs !== undefined || createdBeforeMs !== undefined) return false;
  return receiver === undefined ? label === undefined || statuses.length === 0 : label === undefined && statuses.length === 0;
}

function newestFirst(positions: readonly Position[]): readonly Position[] {
  return positions.toSorted((left, right) => right.seq - left.seq);
}

function tagsFrom(text: string | null | undefined): TransactionTags | null {
  return text == null ? null : (JSON.parse(text) as TransactionTags);
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
