import { type Kysely, type SqlBool, sql } from 'kysely';
import type { Migration } from 'kysely/migration';
import type { Dialect } from '../sql/dialect.js';

/** The stored copy of the audit log. */
export function auditLines({ name }: Pick<Dialect, 'name'>): Migration {
  // Ids sort as the lines were written in every language of the database: in some, "aa" comes after "z".
  const idType = name === 'postgres' ? sql`text collate "C"` : sql`text`;
  return {
    async up(db: Kysely<unknown>): Promise<void> {
      await db.schema
        .createTable('audit_lines')
        .addColumn('id', idType, (column) => column.notNull())
        .addColumn('key_id', 'text')
        .addColumn('relayer_id', 'text')
        .addColumn('transaction_id', 'text')
        .addColumn('method', 'text')
        .addColumn('line', 'text', (column) => column.notNull())
        .addPrimaryKeyConstraint('audit_lines_key', ['id'])
        .execute();
      for (const by of ['key', 'relayer', 'transaction'])
        await db.schema
          .createIndex(`audit_lines_by_${by}`)
          .on('audit_lines')
          .columns([`${by}_id`, 'id'])
          .where(sql<SqlBool>`${sql.ref(`${by}_id`)} is not null`)
          .execute();
    },
  };
}
