import { type Kysely, type Migration, Migrator } from 'kysely';
import type { Dialect } from './dialect.js';
import { initial } from './migrations/0001-initial.js';
import { deliveryRecord } from './migrations/0002-delivery-record.js';
import { outcomes } from './migrations/0003-outcomes.js';
import { heldContent } from './migrations/0004-held-content.js';
import { apiKeys } from './migrations/0007-api-keys.js';
import { definitions } from './migrations/0008-definitions.js';
import { traceContext } from './migrations/0009-trace-context.js';
import { transactionEnds } from './migrations/0010-transaction-ends.js';

/** All migrations, in the order of their names. */
function migrationsFor(dialect: Dialect): Record<string, Migration> {
  return {
    '0001-initial': initial(dialect),
    '0002-delivery-record': deliveryRecord(dialect),
    '0003-outcomes': outcomes(dialect),
    '0004-held-content': heldContent(),
    '0007-api-keys': apiKeys(dialect),
    '0008-definitions': definitions(dialect),
    '0009-trace-context': traceContext(),
    '0010-transaction-ends': transactionEnds(),
  };
}

/**
 * Brings the database to this version's tables, in one transaction, and returns the names of the migrations that this took. Throws when one
 * fails, or when the database was made by a newer version.
 */
export async function migrate(db: Kysely<unknown>, dialect: Dialect): Promise<string[]> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrationsFor(dialect) } });
  const { error, results } = await migrator.migrateToLatest();
  if (error !== undefined) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`the database cannot be brought to this version: ${reason}`, { cause: error });
  }
  return (results ?? []).map((result) => result.migrationName);
}
