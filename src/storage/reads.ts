import { setImmediate } from 'node:timers/promises';
import type { ChangedTransaction } from '../core/ports/store/feed.js';
import type { LaneTransaction, OpenOfRelayer } from '../core/ports/store/lane-views.js';
import type { PageOf, PageQuery } from '../core/ports/store/page.js';
import type { Reads } from '../core/ports/store/store.js';
import type { DeliveryRecord } from '../core/records/notification.js';
import type { Attempt, OpenTransaction, TransactionStatus, TransactionView } from '../core/records/transaction.js';
import type { Query, Statement } from './sql/statement.js';
import type { Statements } from './statements/all-statements.js';
import { apiKeyReads } from './statements/api-keys.js';
import { attemptFromRow } from './statements/attempts.js';
import { definitionReads } from './statements/definitions.js';
import { deliveryAttemptMapping, type EventRow, eventMapping } from './statements/events.js';
import type { LaneTransactionRow } from './statements/lane-views.js';
import { laneReads } from './statements/lanes.js';
import { notificationMapping } from './statements/notifications.js';
import { storedResponseReads } from './statements/stored-responses.js';
import type { ChangedTransactionRow } from './statements/transaction-changes.js';
import { attemptFromJoinedRow, type TransactionViewRow, transactionFromRow } from './statements/transaction-rows.js';
import type { Walked } from './statements/transactions.js';

function viewFromRow(row: TransactionViewRow): TransactionView {
  return { transaction: transactionFromRow(row), shown: attemptFromJoinedRow(row) };
}

function changedFromRow(row: ChangedTransactionRow): ChangedTransaction {
  return { view: viewFromRow(row), place: row.seq, position: row.position };
}

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

/** The numbered values of a statement that is compiled per count. */
function numbered<K extends string, V>(name: K, values: readonly V[]): { readonly [key in `${K}_${number}`]: V } {
  return Object.fromEntries(values.map((value, index) => [`${name}_${index}`, value])) as { [key in `${K}_${number}`]: V };
}

/** Repeats the last value, so that few statements serve lists of any length. */
function paddedToPowerOfTwo<V>(values: readonly V[]): readonly V[] {
  if (values.length === 0) return values;
  const length = 2 ** Math.ceil(Math.log2(values.length));
  return [...values, ...values.slice(-1).flatMap((last) => Array<V>(length - values.length).fill(last))];
}

/** Rows that one query walks over: few enough that nothing else waits long. SQLite answers in this thread. */
const stride = 4_000;

/** Slots of a lane that are read at once. */
const laneStride = 32;
/** Transactions of a lane whose attempts are read at once: each of up to 20 may have much call data, which the database must step over. */
const attemptsStride = 8;

/** How many deliveries are counted from the start of a page. A notification may have millions of them. */
const countedDeliveries = 10_000;

/** Walks over at most `limit` rows before a `seq`, newest first. */
type Walk = (part: { readonly before: number; readonly limit: number }) => Promise<readonly Walked[]>;

/** A list without a stored total. */
interface CountedList {
  readonly walk: Walk;
  readonly positionOf: Statement<{ id: string }, { seq: number }>;
  /** The number of rows that are counted from the start of a page. */
  readonly counted: number;
}

/**
 * Walks over the next `wanted` rows of a list, newest first. Returns how many there were, and the `seq` that the rest of the list is
 * before. A page far back is found this way; an offset would do the same in one go, while everything else waits.
 */
async function walkOver(walk: Walk, wanted: number, from = Number.MAX_SAFE_INTEGER): Promise<{ before: number; count: number }> {
  let before = from;
  let count = 0;
  while (count < wanted) {
    const limit = Math.min(stride, wanted - count);
    const [walked] = await walk({ before, limit });
    if (walked === undefined || walked.last === null) break;
    count += walked.count;
    before = walked.last;
    if (walked.count < limit) break;
    await setImmediate();
  }
  return { before, count };
}

/** Makes the reads of a store. */
export function createReads(statements: Statements, query: Query): Reads {
  const {
    transactions,
    attempts,
    laneViews,
    notifications,
    events,
    deliveryAttempts,
    databaseSecret,
    changePositions,
    databaseIds,
    instances,
    transactionChanges,
  } = statements;

  async function withAttempts(rows: readonly EventRow[]): Promise<readonly DeliveryRecord[]> {
    if (rows.length === 0) return [];
    const ids = paddedToPowerOfTwo(rows.map(({ id }) => id));
    const deliveries = await query(deliveryAttempts.ofEvents(ids.length), numbered('event', ids));
    return rows.map((row) => ({
      event: eventMapping.fromRow(row),
      attempts: deliveries.filter(({ event_id }) => event_id === row.id).map(deliveryAttemptMapping.fromRow),
    }));
  }

  /** Adds the attempts of some transactions of a lane. */
  async function withSlimAttempts(rows: readonly LaneTransactionRow[], newest: number): Promise<readonly LaneTransaction[]> {
    const signedIds = rows.flatMap(({ id, live_version }) => (live_version === null ? [] : [id]));
    const attemptsById = new Map<string, Attempt[]>();
    for (let at = 0; at < signedIds.length; at += attemptsStride) {
      if (at > 0) await setImmediate();
      const ids = paddedToPowerOfTwo(signedIds.slice(at, at + attemptsStride));
      for (const row of await query(laneViews.attemptsOf(ids.length), { ...numbered('id', ids), newest })) {
        const known = attemptsById.get(row.transaction_id) ?? [];
        attemptsById.set(row.transaction_id, known);
        known.push(attemptFromRow({ ...row, raw: '' }));
      }
    }
    return rows.map(({ id, status, status_reason, created_at_ms, nonce, mined_version }) => ({
      id,
      status,
      statusReason: status_reason,
      createdAtMs: created_at_ms,
      nonce: nonce === null ? null : BigInt(nonce),
      minedVersion: mined_version,
      attempts: attemptsById.get(id) ?? [],
    }));
  }

  /** A transaction accepted between the two reads is missing; one removed between them still counts in the total. */
  async function allOf(relayerId: string, { offset, limit, after }: PageQuery): Promise<PageOf<TransactionView>> {
    const [ordinals] = await query(transactions.ordinals, { relayer_id: relayerId });
    const last = ordinals?.last ?? 0;
    const total = last - (ordinals?.first ?? 1) + 1;
    if (offset >= total) return { items: [], total };
    const [position] = after === undefined ? [] : await query(transactions.position, { id: after });
    const highest = position === undefined ? last - offset : position.ordinal - 1;
    const rows = await query(transactions.page, { relayer_id: relayerId, highest, limit });
    return { items: rows.map(viewFromRow), total };
  }

  /** Total and page are two reads: a change between them may show in the page only. */
  async function someOf(relayerId: string, statuses: ReadonlySet<TransactionStatus>, page: PageQuery): Promise<PageOf<TransactionView>> {
    const { offset, limit, after } = page;
    const totals = await query(transactions.totals, { relayer_id: relayerId });
    const total = totals.filter((row) => statuses.has(row.status)).reduce((sum, row) => sum + row.total, 0);
    if (offset >= total) return { items: [], total };
    const values = { ...numbered('status', [...statuses]), relayer_id: relayerId };
    const walk: Walk = (part) => query(transactions.walkStatuses(statuses.size), { ...values, ...part });
    const [position] = after === undefined ? [] : await query(transactions.position, { id: after });
    const before = position === undefined ? (await walkOver(walk, offset)).before : position.seq;
    const rows = await query(transactions.pageOfStatuses(statuses.size), { ...values, before, limit });
    return { items: rows.map(viewFromRow), total };
  }

  /**
   * Counts a list, at most `counted` rows from the start of the page, and returns the `seq` that the page is before; null: it is past the
   * end.
   */
  async function placeOf(
    { walk, positionOf, counted }: CountedList,
    { offset, after }: PageQuery,
  ): Promise<{ readonly length: Omit<PageOf<never>, 'items'>; readonly before: number | null }> {
    const { before, count } = await walkOver(walk, offset);
    // One row more shows that there are more.
    const { count: found } = await walkOver(walk, counted + 1, before);
    const [position] = after === undefined ? [] : await query(positionOf, { id: after });
    return {
      length: { total: count + Math.min(found, counted), ...(found > counted ? { hasMore: true } : {}) },
      before: found === 0 ? null : (position?.seq ?? before),
    };
  }

  return {
    ...apiKeyReads(statements.apiKeys, query),
    ...definitionReads(statements, query),
    ...laneReads(statements.lanes, query),
    ...storedResponseReads(statements.storedResponses, query),
    transaction: async (id) => (await query(transactions.byId, { id })).map(viewFromRow)[0],
    transactionsOf: (relayerId, statuses, page) =>
      statuses.length === 0 ? allOf(relayerId, page) : someOf(relayerId, new Set(statuses), page),
    attemptsOf: async (transactionId) => (await query(attempts.ofTransaction, { transaction_id: transactionId })).map(attemptFromRow),
    transactionIdAt: async ({ chain, account }, nonce) =>
      (await query(attempts.ownerOfSlot, { chain, account, nonce: nonce.toString() }))[0]?.id,
    transactionIdOf: async (chain, hash) => (await query(attempts.ownerOfHash, { chain, hash }))[0]?.transaction_id,
    slot: async ({ chain, account }, nonce) => {
      const values = { chain, account, nonce: nonce.toString() };
      const versions = (await query(attempts.inSlot, values)).map(attemptFromRow);
      const finals = new Set((await query(attempts.finalInSlot, values)).map(({ version }) => version));
      return { versions, mined: versions.find(({ version }) => finals.has(version)) ?? null };
    },
    relayersWithFinished: async () => (await query(transactions.relayers, {})).map((row) => row.relayer_id),
    oldestTransactions: async (relayerId, limit) => {
      const rows = await query(transactions.oldest, { relayer_id: relayerId, limit });
      return rows.map((row) => ({ id: row.id, place: row.ordinal, endedAtMs: row.ended_at_ms, sharesSlot: row.shares_slot === 1 }));
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
    openSummaries: async ({ chain, account }) =>
      (await query(transactions.openSummaries, { chain, account })).map(({ id, relayer_id, status, intent, revision }) => ({
        id,
        relayerId: relayer_id,
        status,
        intent,
        revision,
      })),
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
    databaseId: async () => {
      const [row] = await query(databaseIds.id, { number: 1 });
      if (row === undefined) throw new Error('the database has no id');
      return row.id;
    },
    timeMs: async () => {
      const [row] = await query(databaseIds.time, {});
      if (row === undefined) throw new Error('the database returned no time');
      return row.time_ms;
    },
    confirmedTimeMs: async () => (await query(instances.confirmedTime, { number: 1 }))[0]?.confirmed_time_ms ?? null,
    openOf: async (relayerIds) => {
      if (relayerIds.length === 0) return new Map();
      const ids = paddedToPowerOfTwo(relayerIds);
      const rows = await query(laneViews.openOf(ids.length), numbered('id', ids));
      const counts = new Map<string, { waiting: number; inFlight: number; unmined: number | null; mined: number | null }>();
      for (const { relayer_id, status, total, oldest } of rows) {
        const known = counts.get(relayer_id) ?? { waiting: 0, inFlight: 0, unmined: null, mined: null };
        counts.set(relayer_id, known);
        if (status === 'pending') known.waiting += total;
        else known.inFlight += total;
        if (status === 'mined') known.mined = oldest;
        else known.unmined = known.unmined === null ? oldest : Math.min(known.unmined, oldest);
      }
      // One of the two is there. A mined one waits for blocks only.
      const places = paddedToPowerOfTwo([...counts.values()].map(({ unmined, mined }) => unmined ?? mined ?? 0));
      const oldest = places.length === 0 ? [] : await query(laneViews.atPlaces(places.length), numbered('place', places));
      const oldestOf = new Map(oldest.map((row) => [row.relayer_id, row]));
      return new Map(
        [...counts].map(([relayerId, { waiting, inFlight }]): [string, OpenOfRelayer] => {
          const row = oldestOf.get(relayerId);
          const shown = row === undefined ? null : { id: row.id, createdAtMs: row.created_at_ms, statusReason: row.status_reason };
          return [relayerId, { waiting, inFlight, oldest: shown }];
        }),
      );
    },
    changesByStatus: async (relayerId, { after, upTo, limit }) => {
      const rows = await query(laneViews.changesByStatus, { relayer_id: relayerId, after, up_to: upTo, limit });
      return {
        totals: new Map(rows.map(({ status, total }) => [status, total])),
        last: rows.length === 0 ? null : Math.max(...rows.map(({ last }) => last)),
      };
    },
    laneTransactionsAt: async ({ chain, account }, nonces, newestAttempts) => {
      const rows: LaneTransactionRow[] = [];
      for (let at = 0; at < nonces.length; at += laneStride) {
        if (at > 0) await setImmediate();
        const texts = paddedToPowerOfTwo(nonces.slice(at, at + laneStride).map(String));
        rows.push(...(await query(laneViews.inSlots(texts.length), { chain, account, ...numbered('id', texts) })));
      }
      return withSlimAttempts(rows, newestAttempts);
    },
    laneTransactionsWithoutNonce: async ({ chain, account }, limit, newestAttempts) =>
      withSlimAttempts(await query(laneViews.withoutNonce, { chain, account, limit }), newestAttempts),
    lowestOpenNonce: async ({ chain, account }) => {
      const [lowest] = await query(laneViews.lowestOpenNonce, { chain, account });
      return lowest === undefined ? undefined : BigInt(lowest.nonce);
    },
    openLanes: () => query(transactions.openLanes, {}),
    notification: async (id) => (await query(notifications.byId, { id })).map(notificationMapping.fromRow)[0],
    databaseSecret: async () => (await query(databaseSecret.sealed, { number: 1 }))[0]?.sealed,
    notifications: async (page) => {
      const walk: Walk = (part) => query(notifications.walk, part);
      const list = { walk, positionOf: notifications.position, counted: Number.POSITIVE_INFINITY };
      const { length, before } = await placeOf(list, page);
      const rows = before === null ? [] : await query(notifications.page, { before, limit: page.limit });
      return { items: rows.map(notificationMapping.fromRow), ...length };
    },
    pendingTargets: async (nowMs) => {
      const rows = await query(events.pendingTargets, { now_ms: nowMs });
      return rows.map((row) => ({
        notificationId: row.notification_id,
        isDue: row.first_at_ms !== null && row.first_at_ms <= nowMs,
        nextAtMs: row.next_at_ms ?? undefined,
      }));
    },
    dueEvents: async (notificationId, nowMs, limit) =>
      (await query(events.due, { notification_id: notificationId, now_ms: nowMs, limit })).map(eventMapping.fromRow),
    pendingEventCount: async (limit) => (await query(events.pendingCount, { limit }))[0]?.total ?? 0,
    delivery: async (notificationId, eventId) =>
      (await withAttempts(await query(events.byId, { notification_id: notificationId, id: eventId })))[0],
    deliveries: async (notificationId, page, transactionId) => {
      const ofAll = { notification_id: notificationId };
      const ofTransaction = { ...ofAll, order_key: transactionId ?? '' };
      const walk: Walk = (part) =>
        transactionId === undefined
          ? query(events.walk, { ...ofAll, ...part })
          : query(events.walkOfTransaction, { ...ofTransaction, ...part });
      const { length, before } = await placeOf({ walk, positionOf: events.position, counted: countedDeliveries }, page);
      const part = { before: before ?? 0, limit: page.limit };
      const pageOf = () =>
        transactionId === undefined
          ? query(events.pageOf, { ...ofAll, ...part })
          : query(events.pageOfTransaction, { ...ofTransaction, ...part });
      const rows = before === null ? [] : await pageOf();
      return { items: await withAttempts(rows), ...length };
    },
    finishedEventIds: async (beforeMs, limit) => (await query(events.finished, { before_ms: beforeMs, limit })).map(({ id }) => id),
  };
}
