import type { Kysely, Selectable } from 'kysely';
import type { SpendingChanges, SpendingReads, StoredSpendWindow } from '../../core/ports/store/spending.js';
import { BoundChange, guarded } from '../sql/bound-change.js';
import type { Schema, SpendWindowTable } from '../sql/schema.js';
import { numbered, paddedToPowerOfTwo, perCount, pick, type Query, statement } from '../sql/statement.js';

type Row = Selectable<SpendWindowTable>;

const columns = ['relayer_id', 'name', 'version', 'buckets'] as const;

type Names = { readonly [name: `name_${number}`]: string };

/** Statements on what counts against limits. */
export function spendingStatements(db: Kysely<Schema>) {
  return {
    insert: statement<Row, never>('spend_windows_insert', (values) => db.insertInto('spend_windows').values(pick(values, columns))),

    update: statement<Row & { before: string }, never>('spend_windows_update', (values) =>
      db
        .updateTable('spend_windows')
        .set({ version: values.version, buckets: values.buckets })
        .where('relayer_id', '=', values.relayer_id)
        .where('name', '=', values.name)
        .where('version', '=', values.before),
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
  };
}

type Statements = ReturnType<typeof spendingStatements>;

/** Queries of what counts against limits. */
export function spendingReads(statements: Statements, query: Query): SpendingReads {
  return {
    async spendWindows(relayerId, names) {
      if (names.length === 0) return [];
      const padded = paddedToPowerOfTwo(names);
      const rows = await query(statements.byNames(padded.length), { relayer_id: relayerId, ...numbered('name', padded) });
      return rows.map(windowFrom);
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
        buckets: JSON.stringify(window.map(({ index, amount }) => [index, String(amount)])),
      };
      const step = before === null ? guarded(statements.insert, row) : guarded(statements.update, { ...row, before });
      return new BoundChange('storeSpendWindow', [step]);
    },
  };
}

function windowFrom({ relayer_id: relayerId, name, version, buckets }: Row): StoredSpendWindow {
  const pairs = JSON.parse(buckets) as readonly (readonly [number, string])[];
  return { relayerId, name, version, window: pairs.map(([index, amount]) => ({ index, amount: BigInt(amount) })) };
}
