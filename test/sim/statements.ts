import { type SqlBool, sql } from 'kysely';
import type { Lease } from '../../src/core/ports/shared-database.js';
import { sqlite } from '../../src/storage/sql/dialect.js';
import { statement } from '../../src/storage/sql/statement.js';
import { compileStatements, type Statements } from '../../src/storage/statements/all-statements.js';
import type { Units } from '../../src/storage/statements/leases.js';

const compiled = compileStatements(sqlite);
const db = sqlite.builder;

/** What PostgreSQL calls `json_array_elements_text`. */
const isAmong = (keys: string) => sql<boolean>`key in (select value from json_each(${keys}))`;

/** In place of a hash of the key. */
const part = sql<number>`(length(key) % 4)`;

/** The statements of the service for the simulated database. Those on leases exist for PostgreSQL only, so these do the same. */
export const statements: Statements = {
  ...compiled,
  leases: {
    ...compiled.leases,
    parts: statement<object, { part: number; count: number; digest: string }>('leases_parts', () => ({
      compile: () =>
        sql<{
          part: number;
          count: number;
          digest: string;
        }>`select ${part} as part, count(*) as count, group_concat(kind || ' ' || key || ' ' || coalesce(holder, '') || ' ' || quote(note)) as digest
          from (select * from leases order by kind, key) group by part`.compile(db),
    })),
    ofParts: statement<{ first: number; last: number }, Lease & { part: number }>('leases_of_parts', ({ first, last }) =>
      db
        .selectFrom('leases')
        .select([part.as('part'), 'kind', 'key', 'holder', 'note'])
        .where(sql<SqlBool>`${part} between ${first} and ${last}`),
    ),
    insertMissing: statement<Units, never>('leases_insert_missing', ({ kind, keys }) => ({
      compile: () =>
        sql<never>`insert into leases (kind, key) select ${kind}, value from json_each(${keys}) where true on conflict do nothing`.compile(
          db,
        ),
    })),
    take: statement<Units & { holder: number }, never>('leases_take', ({ kind, keys, holder }) =>
      db.updateTable('leases').set({ holder }).where('kind', '=', kind).where('holder', 'is', null).where(isAmong(keys)),
    ),
    give: statement<Units & { holder: number }, never>('leases_give', ({ kind, keys, holder }) =>
      db.updateTable('leases').set({ holder: null, note: null }).where('kind', '=', kind).where('holder', '=', holder).where(isAmong(keys)),
    ),
    dropOthers: statement<Units, never>('leases_drop_others', ({ kind, keys }) =>
      db
        .deleteFrom('leases')
        .where('kind', '=', kind)
        .where('holder', 'is', null)
        .where((eb) => eb.not(isAmong(keys))),
    ),
  },
};
