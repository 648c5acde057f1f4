import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import type { LaneTransaction, LaneViewReads, OpenOfRelayer } from '../../core/ports/store/lane-views.js';
import { type Attempt, type LaneId, openStatuses, type TransactionStatus } from '../../core/records/transaction.js';
import type { Dialect } from '../sql/dialect.js';
import { exactJson } from '../sql/record-mapping.js';
import type { TransactionTable } from '../sql/schema.js';
import { numbered, paddedToPowerOfTwo, perCount, type Query, statement } from '../sql/statement.js';
import { type AttemptRow, attemptColumns, attemptFromRow } from './attempts.js';
import { isOpen } from './transaction-rows.js';

/** The numbered values of a statement that is compiled per count. */
interface Ids {
  readonly [id: `id_${number}`]: string;
}

/** The open transactions of a relayer in one status. */
interface OpenInStatusRow {
  readonly relayer_id: string;
  readonly status: TransactionStatus;
  readonly total: number;
  /** The `seq` of the oldest. */
  readonly oldest: number;
}

/** What identifies a transaction in its lane, and what it waits for. */
type LaneTransactionRow = Pick<
  TransactionTable,
  'id' | 'status' | 'status_reason' | 'created_at_ms' | 'nonce' | 'live_version' | 'mined_version' | 'delays'
>;

/** An attempt without its wire form and its call data, which may be large. */
type SlimAttemptRow = Omit<AttemptRow, 'raw'>;

const laneColumns = [
  'transactions.id',
  'transactions.status',
  'transactions.status_reason',
  'transactions.created_at_ms',
  'transactions.nonce',
  'transactions.live_version',
  'transactions.mined_version',
  'transactions.delays',
] as const;
const storedDelays = exactJson('delays');
const slimColumns = attemptColumns.filter((column) => column !== 'raw' && column !== 'fields');

/** The open transactions from the start of a lane among which the lowest nonce is searched. */
const searchedForLowest = 200;

/** Slots of a lane that are read at once. */
const laneStride = 32;
/** Transactions of a lane whose attempts are read at once: each of up to 20 may have much call data, which the database must step over. */
const attemptsStride = 8;

/** Statements on lanes as operators see them, from indexes and without contents. */
export function laneViewStatements({ builder: db, jsonWithNull }: Dialect) {
  const idsOf = (values: Ids, count: number) => Array.from({ length: count }, (_, index) => values[`id_${index}`] as string);
  const isInOpenStatus = sql<boolean>`status in (${sql.join(openStatuses.map((status) => sql.lit(status)))})`;
  const openOf = ({ chain, account }: LaneId) =>
    db.selectFrom('transactions').where('chain', '=', chain).where('account', '=', account).where(isOpen());

  return {
    /** The number and the oldest of the open transactions of `count` relayers, by status. Reads only the index of the statuses. */
    openOf: perCount((count) =>
      statement<Ids, OpenInStatusRow>(`lane_views_open_of_${count}`, (values) =>
        db
          .selectFrom('transactions')
          .select((eb) => ['relayer_id', 'status', eb.fn.countAll<number>().as('total'), eb.fn.min('seq').as('oldest')])
          .where('relayer_id', 'in', idsOf(values, count))
          .where(isInOpenStatus)
          .groupBy(['relayer_id', 'status']),
      ),
    ),

    /** The transactions at `count` places in the order of acceptance. */
    atPlaces: perCount((count) =>
      statement<{ readonly [place: `place_${number}`]: number }, Pick<TransactionTable, 'relayer_id'> & LaneTransactionRow>(
        `lane_views_at_places_${count}`,
        (values) =>
          db
            .selectFrom('transactions')
            .select(['relayer_id', ...laneColumns])
            .where(
              'seq',
              'in',
              Array.from({ length: count }, (_, index) => values[`place_${index}`] as number),
            ),
      ),
    ),

    /**
     * The number of a relayer's transactions in a range of positions, by status, among the first `limit` ones; `last`: the highest position
     * of these.
     */
    changesByStatus: statement<
      { relayer_id: string; after: number; up_to: number; limit: number },
      { readonly status: TransactionStatus; readonly total: number; readonly last: number }
    >('lane_views_changes_by_status', (values) =>
      db
        .selectFrom(
          db
            .selectFrom('transactions')
            .select(['status', 'position'])
            .where('relayer_id', '=', values.relayer_id)
            .where('position', '>', values.after)
            .where('position', '<=', values.up_to)
            .orderBy('position')
            .limit(values.limit)
            .as('changed'),
        )
        .select((eb) => ['status', eb.fn.countAll<number>().as('total'), eb.fn.max('position').as('last')])
        .groupBy('status'),
    ),

    /** The transactions that use `count` slots of a lane now. */
    inSlots: perCount((count) =>
      statement<LaneId & Ids, LaneTransactionRow>(`lane_views_in_slots_${count}`, (values) =>
        db
          .selectFrom('attempts')
          .innerJoin('transactions', 'transactions.id', 'attempts.transaction_id')
          .select(laneColumns)
          .distinct()
          .where('attempts.chain', '=', values.chain)
          .where('attempts.account', '=', values.account)
          .where('attempts.nonce', 'in', idsOf(values, count))
          .whereRef('transactions.nonce', '=', 'attempts.nonce'),
      ),
    ),

    /** The oldest open transactions of a lane that have no nonce. */
    withoutNonce: statement<LaneId & { limit: number }, LaneTransactionRow>('lane_views_without_nonce', (values) =>
      openOf(values).select(laneColumns).where('nonce', 'is', null).orderBy('seq').limit(values.limit),
    ),

    /** The lowest nonce of the oldest open transactions of a lane. Nonces are taken in about the order of acceptance. */
    lowestOpenNonce: statement<LaneId, { readonly nonce: string }>('lane_views_lowest_open_nonce', (values) =>
      db
        .selectFrom(
          openOf(values)
            .select('nonce')
            .where('nonce', 'is not', null)
            .$narrowType<{ nonce: string }>()
            .orderBy('seq')
            .limit(sql.lit(searchedForLowest))
            .as('oldest'),
        )
        .select('oldest.nonce')
        // Decimal texts without leading zeros: the shorter is the lower one.
        .orderBy(sql`length(oldest.nonce)`)
        .orderBy('oldest.nonce')
        .limit(sql.lit(1)),
    ),

    /** The `newest` attempts of `count` transactions, and the mined ones, oldest first. */
    attemptsOf: perCount((count) =>
      statement<Ids & { newest: number }, SlimAttemptRow>(`lane_views_attempts_of_${count}`, (values) =>
        db
          .selectFrom('attempts')
          .innerJoin('transactions', 'transactions.id', 'attempts.transaction_id')
          .select(slimColumns.map((column) => `attempts.${column}` as const))
          .select(jsonWithNull('attempts.fields', 'data').as('fields'))
          .where('attempts.transaction_id', 'in', idsOf(values, count))
          .where((eb) =>
            eb.or([
              eb('attempts.version', '>', eb('transactions.live_version', '-', values.newest)),
              eb('attempts.version', '=', eb.ref('transactions.mined_version')),
            ]),
          )
          .orderBy('attempts.transaction_id')
          .orderBy('attempts.version'),
      ),
    ),
  };
}

/** Queries of what operators see. */
export function laneViewReads(laneViews: ReturnType<typeof laneViewStatements>, query: Query): LaneViewReads {
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
    return rows.map(({ id, status, status_reason, created_at_ms, nonce, mined_version, delays }) => ({
      id,
      status,
      statusReason: status_reason,
      createdAtMs: created_at_ms,
      nonce: nonce === null ? null : BigInt(nonce),
      minedVersion: mined_version,
      delays: storedDelays.read(delays as never),
      attempts: attemptsById.get(id) ?? [],
    }));
  }

  return {
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
  };
}
