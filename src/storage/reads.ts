import type { OpenTransaction, PageOf, PageQuery, Reads } from '../core/ports/store.js';
import type { Attempt, TransactionStatus, TransactionView } from '../core/transaction/transaction.js';
import { attemptFromJoinedRow, attemptFromRow } from './rows/attempt-row.js';
import { eventFromRow } from './rows/event-row.js';
import { notificationFromRow } from './rows/notification-row.js';
import { transactionFromRow } from './rows/transaction-row.js';
import type { Statement } from './statement.js';
import type { Statements } from './statements/all-statements.js';
import type { TransactionViewRow } from './statements/transactions.js';

/** Runs a reading statement on committed rows. */
export type Query = <P extends object, R>(statement: Statement<P, R>, values: P) => Promise<readonly R[]>;

function viewFromRow(row: TransactionViewRow): TransactionView {
  return { transaction: transactionFromRow(row), shown: attemptFromJoinedRow(row) };
}

/** Gathers rows of one transaction each attempt, which come together, into one item each transaction. */
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

/** The values of a statement that is made per count. */
function numbered<K extends string, V>(name: K, values: readonly V[]): { readonly [key in `${K}_${number}`]: V } {
  return Object.fromEntries(values.map((value, index) => [`${name}_${index}`, value])) as { [key in `${K}_${number}`]: V };
}

/** Repeats the last value, so that lists of any length need few statements. */
function paddedToPowerOfTwo<V>(values: readonly V[]): readonly V[] {
  if (values.length === 0) return values;
  const length = 2 ** Math.ceil(Math.log2(values.length));
  return [...values, ...values.slice(-1).flatMap((last) => Array<V>(length - values.length).fill(last))];
}

/** What can be read, through `query`. */
export function createReads({ transactions, attempts, lanes, notifications, fileEntries, events }: Statements, query: Query): Reads {
  async function allOf(relayerId: string, { offset, limit }: PageQuery): Promise<PageOf<TransactionView>> {
    const [last] = await query(transactions.lastOrdinal, { relayer_id: relayerId });
    const total = last?.total ?? 0;
    if (offset >= total) return { items: [], total };
    const rows = await query(transactions.page, { relayer_id: relayerId, highest: total - offset, limit });
    return { items: rows.map(viewFromRow), total };
  }

  /** Total and page are two reads: a change between them may show in the second alone. */
  async function someOf(relayerId: string, statuses: ReadonlySet<TransactionStatus>, page: PageQuery): Promise<PageOf<TransactionView>> {
    const { offset, limit } = page;
    const totals = await query(transactions.totals, { relayer_id: relayerId });
    const total = totals.filter((row) => statuses.has(row.status)).reduce((sum, row) => sum + row.total, 0);
    if (offset >= total) return { items: [], total };
    const values = { ...numbered('status', [...statuses]), relayer_id: relayerId, limit, offset, depth: offset + limit };
    const rows = await query(transactions.pageOfStatuses(statuses.size), values);
    return { items: rows.map(viewFromRow), total };
  }

  return {
    transaction: async (id) => (await query(transactions.byId, { id })).map(viewFromRow)[0],
    transactionsOf: (relayerId, statuses, page) =>
      statuses.length === 0 ? allOf(relayerId, page) : someOf(relayerId, new Set(statuses), page),
    attemptsOf: async (transactionId) => (await query(attempts.ofTransaction, { transaction_id: transactionId })).map(attemptFromRow),
    transactionIdAt: async ({ chain, account }, nonce) =>
      (await query(attempts.ownerOfSlot, { chain, account, nonce: nonce.toString() }))[0]?.id,
    slot: async ({ chain, account }, nonce) => {
      const values = { chain, account, nonce: nonce.toString() };
      const versions = (await query(attempts.inSlot, values)).map(attemptFromRow);
      const finals = new Set((await query(attempts.finalInSlot, values)).map(({ version }) => version));
      return { versions, mined: versions.find(({ version }) => finals.has(version)) ?? null };
    },
    openTransactions: async ({ chain, account }) => openFromRows(await query(transactions.openOfLane, { chain, account })),
    openLanes: () => query(transactions.openLanes, {}),
    nextNonce: async ({ chain, account }) => {
      const [lane] = await query(lanes.nextNonce, { chain, account });
      return lane === undefined ? undefined : BigInt(lane.next_nonce);
    },
    genesisHash: async (chain) => (await query(lanes.genesisHash, { chain }))[0]?.genesis_hash,
    notification: async (id) => (await query(notifications.byId, { id })).map(notificationFromRow)[0],
    fileEntries: (kind) => query(fileEntries.ofKind, { kind }),
    notifications: async ({ offset, limit }) => {
      const [count] = await query(notifications.total, {});
      const total = count?.total ?? 0;
      const rows = offset < total ? await query(notifications.page, { limit, offset }) : [];
      return { items: rows.map(notificationFromRow), total };
    },
    dueEvents: async (nowMs, limit, passOver = []) => {
      const passed = numbered('passed', paddedToPowerOfTwo(passOver));
      const rows = await query(events.due(Object.keys(passed).length), { ...passed, now_ms: nowMs, limit });
      return rows.map(eventFromRow);
    },
    nextEventAtMs: async () => (await query(events.next, {}))[0]?.next_attempt_at_ms,
  };
}
