import { type Kysely, sql } from 'kysely';
import type { Migration } from 'kysely/migration';
import type { Dialect } from '../sql/dialect.js';

/** Lets PostgreSQL find the leases of a part, so that an instance reads only the parts that differ. */
export function leaseParts({ name }: Pick<Dialect, 'name'>): Migration {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      if (name !== 'postgres') return;
      await sql`create index leases_by_part on leases ((hashtext(key) & 1023))`.execute(db);
    },
  };
}
