import { type Kysely, type SqlBool, sql } from 'kysely';
import type { LeaseKind } from '../../core/ports/leases.js';
import type { Lease, StoredLeases } from '../../core/ports/shared-database.js';
import type { Store } from '../../core/ports/store/store.js';
import { BoundChange, type ChangeName, type Step, step } from '../sql/bound-change.js';
import type { Schema } from '../sql/schema.js';
import { type Query, statement } from '../sql/statement.js';

/** Units of one kind; `keys` is a JSON list. */
export interface Units {
  readonly kind: LeaseKind;
  readonly keys: string;
}

/** One of 1,024 parts of all keys, which the index `leases_by_part` has. */
const part = sql<number>`(hashtext(key) & 1023)`;

/** Statements on leases, for PostgreSQL only: many units change in one statement. */
export function leaseStatements(db: Kysely<Schema>) {
  // `is true` makes PostgreSQL hash the keys. Without it, it plans a join and compares each lease with each key: it expects few of both,
  // since the table grows faster than its statistics.
  const isAmong = (keys: string) => sql<SqlBool>`(key in (select json_array_elements_text(${keys}::json))) is true`;
  // A note ends with the work that it is about.
  const free = { holder: null, note: null };
  return {
    parts: statement<object, { part: number; count: number; digest: string }>('leases_parts', () =>
      db
        .selectFrom('leases')
        .select([
          part.as('part'),
          sql<number>`count(*)::int`.as('count'),
          sql<string>`sum(hashtextextended(leases::text, 0))::text`.as('digest'),
        ])
        .groupBy('part'),
    ),

    ofParts: statement<{ first: number; last: number }, Lease & { part: number }>('leases_of_parts', ({ first, last }) =>
      db
        .selectFrom('leases')
        .select([part.as('part'), 'kind', 'key', 'holder', 'note'])
        .where(sql<SqlBool>`${part} between ${first} and ${last}`),
    ),

    /** Adds free leases for the units that have none. */
    insertMissing: statement<Units, never>('leases_insert_missing', ({ kind, keys }) =>
      db
        .insertInto('leases')
        .columns(['kind', 'key'])
        .expression((eb) =>
          eb
            .selectFrom(sql<{ key: string }>`json_array_elements_text(${keys}::json)`.as('unit'))
            .select([sql<LeaseKind>`${kind}::text`.as('kind'), sql<string>`unit`.as('key')]),
        )
        .onConflict((conflict) => conflict.columns(['kind', 'key']).doNothing()),
    ),

    /** Takes the leases that are free when the statement runs. */
    take: statement<Units & { holder: number }, never>('leases_take', ({ kind, keys, holder }) =>
      db.updateTable('leases').set({ holder }).where('kind', '=', kind).where('holder', 'is', null).where(isAmong(keys)),
    ),

    give: statement<Units & { holder: number }, never>('leases_give', ({ kind, keys, holder }) =>
      db.updateTable('leases').set(free).where('kind', '=', kind).where('holder', '=', holder).where(isAmong(keys)),
    ),

    setNote: statement<{ kind: LeaseKind; key: string; holder: number; note: string | null }, never>(
      'leases_set_note',
      ({ kind, key, holder, note }) =>
        db.updateTable('leases').set({ note }).where('kind', '=', kind).where('key', '=', key).where('holder', '=', holder),
    ),

    giveAll: statement<{ holder: number }, never>('leases_give_all', ({ holder }) =>
      db.updateTable('leases').set(free).where('holder', '=', holder),
    ),

    /** Frees the leases whose holders are gone. */
    freeOrphans: statement<object, never>('leases_free_orphans', () =>
      db
        .updateTable('leases')
        .set(free)
        .where('holder', 'is not', null)
        .where('holder', 'not in', db.selectFrom('instances').select('number')),
    ),

    /**
     * Deletes a lease, unless another instance has it: that one still works on the unit, or already works on a new one with the same key.
     */
    remove: statement<{ kind: LeaseKind; key: string; holder: number }, never>('leases_remove', ({ kind, key, holder }) =>
      db
        .deleteFrom('leases')
        .where('kind', '=', kind)
        .where('key', '=', key)
        .where((eb) => eb.or([eb('holder', 'is', null), eb('holder', '=', holder)])),
    ),

    /** Deletes the free leases of the units that are not among these. */
    dropOthers: statement<Units, never>('leases_drop_others', ({ kind, keys }) =>
      db
        .deleteFrom('leases')
        .where('kind', '=', kind)
        .where('holder', 'is', null)
        .where((eb) => eb.not(isAmong(keys))),
    ),
  };
}

/** The leases of a database that several instances share. */
export function storedLeases(leases: ReturnType<typeof leaseStatements>, query: Query, commit: Store['commit']): StoredLeases {
  const write = (name: ChangeName, steps: readonly Step[]) => commit([new BoundChange(name, steps)]);
  return {
    parts: async () => new Map((await query(leases.parts, {})).map((row) => [row.part, row])),
    ofParts: (first, last) => query(leases.ofParts, { first, last }),
    take: (holder, kind, { missing, free }) =>
      write('takeLeases', [
        ...(missing.length === 0 ? [] : [step(leases.insertMissing, { kind, keys: JSON.stringify(missing) })]),
        step(leases.take, { kind, keys: JSON.stringify(free), holder }),
      ]),
    give: (holder, kind, keys) => write('giveLeases', [step(leases.give, { kind, keys: JSON.stringify(keys), holder })]),
    note: (holder, kind, key, note) => write('noteLease', [step(leases.setNote, { kind, key, holder, note })]),
    remove: (holder, kind, key) => write('removeLease', [step(leases.remove, { kind, key, holder })]),
  };
}
