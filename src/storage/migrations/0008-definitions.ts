import type { Kysely, Migration } from 'kysely';
import type { Dialect } from '../dialect.js';

/** What the API made, changed and deleted of relayers, signers and networks. */
export function definitions(dialect: Dialect): Migration {
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      await db.schema
        .createTable('definitions')
        .addColumn('seq', dialect.sequenceType, (column) => dialect.sequence(column))
        .addColumn('kind', 'text', (column) => column.notNull())
        .addColumn('id', 'text', (column) => column.notNull())
        .addColumn('content', 'text')
        .addColumn('sealed', 'text')
        .addUniqueConstraint('definitions_key', ['kind', 'id'])
        .execute();
    },
  };
}
