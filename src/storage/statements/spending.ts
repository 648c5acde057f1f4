import { type Kysely, type Selectable, sql } from 'kysely';
import type { Reservation, ReservedSpend, SpendingChanges, SpendingReads, StoredSpendWindow } from '../../core/ports/store/spending.js';
import type { Bucket } from '../../core/records/spending-rule.js';
import type { MinedFacts } from '../../core/records/transaction.js';
import { BoundChange, guarded } from '../sql/bound-change.js';
import { exactJson } from '../sql/record-mapping.js';
import type { Schema, SpendReservationTable, SpendWindowTable, TransactionTable } from '../sql/schema.js';
import { numbered, paddedToPowerOfTwo, perCount, pick, type Query, statement } from '../sql/statement.js';
import { isSigningAllowed } from './attempts.js';

type Row = Selectable<SpendWindowTable>;

const columns = ['relayer_id', 'name', 'version', 'amounts'] as const;

type ReservationRow = Selectable<SpendReservationTable>;

type EndedRow = ReservationRow &
  Pick<Selectable<TransactionTable>, 'relayer_id' | 'status' | 'failure_reason' | 'mined_version' | 'mined_facts'>;

type Names = { readonly [name: `name_${number}`]: string };

/** Statements on what counts against limits. */
export function spendingStatements(db: Kysely<Schema>) {
  return {
    insert: statement<Row, never>('spend_windows_insert', (values) => db.insertInto('spend_windows').values(pick(values, columns))),

    update: statement<Row & { before: string }, never>('spend_windows_update', (values) =>
      db
        .updateTable('spend_windows')
        .set({ version: values.version, amounts: values.amounts })
        .where('relayer_id', '=', values.relayer_id)
        .where('name', '=', values.name)
        .where('version', '=', values.before),
    ),

    /** Changes nothing. Affects no row while nothing may be signed: see `isSigningAllowed`. */
    touchToSign: statement<Pick<Row, 'relayer_id' | 'name'>, never>('spend_windows_touch_to_sign', (values) =>
      db
        .updateTable('spend_windows')
        .set(({ ref }) => ({ version: ref('version') }))
        .where('relayer_id', '=', values.relayer_id)
        .where('name', '=', values.name)
        .where(isSigningAllowed(db)),
    ),

    byNames: perCount((count) =>
      statement<{ readonly relayer_id: string } & Names, Row>(`spend_windows_by_names_${count}`, (values) =>
        db
          .selectFrom('spend_windows')
          .selectAll()
          .where('relayer_id', '=', values.relayer_id)
          .where(
            'name',
            'in',
            Array.from({ length: count }, (_, index) => values[`name_${index}`] as string),
          ),
      ),
    ),

    all: statement<{ relayer_id: string }, Row>('spend_windows_of_relayer', (values) =>
      db.selectFrom('spend_windows').selectAll().where('relayer_id', '=', values.relayer_id).orderBy('name'),
    ),

    insertReservation: statement<ReservationRow, never>('spend_reservations_insert', (values) =>
      db.insertInto('spend_reservations').values(pick(values, ['transaction_id', 'reserved'])),
    ),

    updateReservation: statement<ReservationRow & { before: string }, never>('spend_reservations_update', (values) =>
      db
        .updateTable('spend_reservations')
        .set({ reserved: values.reserved })
        .where('transaction_id', '=', values.transaction_id)
        .where('reserved', '=', values.before),
    ),

    reservation: statement<{ transaction_id: string }, Pick<ReservationRow, 'reserved'>>('spend_reservations_by_id', (values) =>
      db.selectFrom('spend_reservations').select('reserved').where('transaction_id', '=', values.transaction_id),
    ),

    deleteReservation: statement<{ transaction_id: string; before: string }, never>('spend_reservations_delete', (values) =>
      db.deleteFrom('spend_reservations').where('transaction_id', '=', values.transaction_id).where('reserved', '=', values.before),
    ),

    deleteReservationsOf: statement<{ relayer_id: string }, never>('spend_reservations_delete_of', (values) =>
      db
        .deleteFrom('spend_reservations')
        .where((eb) =>
          eb.exists(
            eb
              .selectFrom('transactions')
              .select(sql.lit(1).as('one'))
              .whereRef('transactions.id', '=', 'spend_reservations.transaction_id')
              .where('transactions.relayer_id', '=', values.relayer_id),
          ),
        ),
    ),
    deleteWindowsOf: statement<{ relayer_id: string }, never>('spend_windows_delete_of', (values) =>
      db.deleteFrom('spend_windows').where('relayer_id', '=', values.relayer_id),
    ),

    ended: statement<{ limit: number }, EndedRow>('spend_reservations_ended', (values) =>
      db
        .selectFrom('spend_reservations')
        .innerJoin('transactions', 'transactions.id', 'spend_reservations.transaction_id')
        .select(['transaction_id', 'reserved', 'relayer_id', 'status', 'failure_reason', 'mined_version', 'mined_facts'])
        .where('ended_at_ms', 'is not', null)
        .limit(values.limit),
    ),
  };
}

type Statements = ReturnType<typeof spendingStatements>;

const factsColumn = exactJson('mined_facts');

/** Queries of what counts against limits. */
export function spendingReads(statements: Statements, query: Query): SpendingReads {
  return {
    async spendWindows(relayerId, names) {
      if (names.length === 0) return [];
      const padded = paddedToPowerOfTwo(names);
      const rows = await query(statements.byNames(padded.length), { relayer_id: relayerId, ...numbered('name', padded) });
      return rows.map(windowFrom);
    },
    allSpendWindows: async (relayerId) => (await query(statements.all, { relayer_id: relayerId })).map(windowFrom),
    async reservation(transactionId) {
      const [row] = await query(statements.reservation, { transaction_id: transactionId });
      return row && reservedFrom(row.reserved);
    },
    async endedReservations(limit) {
      const rows = await query(statements.ended, { limit });
      return rows.map(({ transaction_id: transactionId, relayer_id: relayerId, status, failure_reason: failureReason, ...row }) => {
        const facts = factsColumn.read(row.mined_facts) as MinedFacts | null;
        const mined = { minedVersion: row.mined_version, feePaid: facts?.feePaid ?? null };
        return { transactionId, relayerId, status, failureReason, ...mined, reserved: reservedFrom(row.reserved) };
      });
    },
  };
}

/** Changes of what counts against limits. */
export function spendingChanges(statements: Statements): SpendingChanges {
  return {
    storeSpendWindow({ relayerId, name, version, window }, before) {
      const row = {
        relayer_id: relayerId,
        name,
        version,
        amounts: JSON.stringify({
          window_ms: window.windowMs,
          open: String(window.open),
          spent: window.spent.map(storedBucket),
          ...(window.granted === undefined ? {} : { granted: window.granted.map(storedBucket) }),
        }),
      };
      const step = before === null ? guarded(statements.insert, row) : guarded(statements.update, { ...row, before });
      return new BoundChange('storeSpendWindow', [step]);
    },
    requireSigningAllowed(relayerId, name) {
      return new BoundChange('requireSigningAllowed', [guarded(statements.touchToSign, { relayer_id: relayerId, name })]);
    },
    insertReservation(transactionId, reserved) {
      const row = { transaction_id: transactionId, reserved: reservedText(reserved) };
      return new BoundChange('insertReservation', [guarded(statements.insertReservation, row)]);
    },
    updateReservation(transactionId, next, before) {
      const values = { transaction_id: transactionId, reserved: reservedText(next), before: reservedText(before) };
      return new BoundChange('updateReservation', [guarded(statements.updateReservation, values)]);
    },
    deleteReservation(transactionId, before) {
      const values = { transaction_id: transactionId, before: reservedText(before) };
      return new BoundChange('deleteReservation', [guarded(statements.deleteReservation, values)]);
    },
  };
}

/** The amounts of a window as they are stored. */
interface StoredAmounts {
  readonly window_ms: number;
  readonly open: string;
  readonly spent: readonly StoredBucket[];
  readonly granted?: readonly StoredBucket[];
}

type StoredBucket = readonly [index: number, amount: string, aheadIndex?: number];

function storedBucket({ index, amount, aheadIndex }: Bucket): StoredBucket {
  return aheadIndex === undefined ? [index, String(amount)] : [index, String(amount), aheadIndex];
}

function bucketFrom([index, amount, aheadIndex]: StoredBucket): Bucket {
  return { index, amount: BigInt(amount), ...(aheadIndex === undefined ? {} : { aheadIndex }) };
}

function windowFrom({ relayer_id: relayerId, name, version, amounts }: Row): StoredSpendWindow {
  const { window_ms: windowMs, open, spent, granted } = JSON.parse(amounts) as StoredAmounts;
  const window = { windowMs, open: BigInt(open), spent: spent.map(bucketFrom) };
  return { relayerId, name, version, window: granted === undefined ? window : { ...window, granted: granted.map(bucketFrom) } };
}

type Pairs = readonly (readonly [window: string, amount: string, onSuccess?: string])[];

/** What a transaction has reserved as it is stored: what is held alone, if its contents are not known. */
type StoredReservation = Pairs | { readonly held: Pairs; readonly contents: readonly (readonly [fromVersion: number, spends: Pairs])[] };

function reservedText({ held, contents }: Reservation): string {
  const stored: StoredReservation =
    contents.length === 0
      ? pairsOf(held)
      : { held: pairsOf(held), contents: contents.map(({ fromVersion, spends }) => [fromVersion, pairsOf(spends)] as const) };
  return JSON.stringify(stored);
}

function reservedFrom(text: string): Reservation {
  const stored: StoredReservation = JSON.parse(text);
  if (!('held' in stored)) return { held: spendsFrom(stored), contents: [] };
  const contents = stored.contents.map(([fromVersion, spends]) => ({ fromVersion, spends: spendsFrom(spends) }));
  return { held: spendsFrom(stored.held), contents };
}

function pairsOf(spends: readonly ReservedSpend[]): Pairs {
  return spends.map(({ window, amount, onSuccess }) =>
    onSuccess === undefined ? ([window, String(amount)] as const) : ([window, String(amount), String(onSuccess)] as const),
  );
}

function spendsFrom(pairs: Pairs): readonly ReservedSpend[] {
  return pairs.map(([window, amount, onSuccess]) => {
    return { window, amount: BigInt(amount), ...(onSuccess === undefined ? {} : { onSuccess: BigInt(onSuccess) }) };
  });
}
