import type { Kysely } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import { StoreAwayError, StoreBrokenError } from '../../core/ports/store/change.js';
import { initial } from '../migrations/0001-initial.js';
import { rewinds } from '../migrations/0002-rewinds.js';
import { acceptedEvidence } from '../migrations/0003-accepted-evidence.js';
import { costsThatDoNotGrow } from '../migrations/0004-costs-that-do-not-grow.js';
import { find } from '../migrations/0005-find.js';
import { leaseParts } from '../migrations/0006-lease-parts.js';
import { configurations } from '../migrations/0007-configurations.js';
import { delays } from '../migrations/0008-delays.js';
import { owners } from '../migrations/0009-owners.js';
import { configRevision } from '../migrations/0010-config-revision.js';
import { receivers } from '../migrations/0011-receivers.js';
import { callerSignatures } from '../migrations/0012-caller-signatures.js';
import { newestVersions } from '../migrations/0013-newest-versions.js';
import { keyUse } from '../migrations/0014-key-use.js';
import { keyRotation } from '../migrations/0015-key-rotation.js';
import { spendWindows } from '../migrations/0016-spend-windows.js';
import { approvals } from '../migrations/0017-approvals.js';
import { auditLines } from '../migrations/0018-audit-lines.js';
import type { Dialect } from '../sql/dialect.js';
import { asStoreAway } from './store-away.js';

/**
 * Every migration, in the order of their names.
 *
 * A released migration is never edited: databases that ran it would differ from new ones. To change the schema, add
 * `../migrations/0099-<what>.ts`, list it here and change `../sql/schema.ts`. Then run `test/storage/migrate.test.ts`: it names the files
 * to commit in `test/storage/released/`, which are the SQL of the migration for each dialect and sample rows. That test fails if the SQL of
 * a released migration changes. The migration contract loads each release's SQL and rows, migrates, and compares the schema with that of a
 * new database.
 */
export function migrationsFor(dialect: Dialect): Record<string, Migration> {
  return {
    '0001-initial': initial(dialect),
    '0002-rewinds': rewinds,
    '0003-accepted-evidence': acceptedEvidence,
    '0004-costs-that-do-not-grow': costsThatDoNotGrow(dialect),
    '0005-find': find,
    '0006-lease-parts': leaseParts(dialect),
    '0007-configurations': configurations,
    '0008-delays': delays,
    '0009-owners': owners,
    '0010-config-revision': configRevision,
    '0011-receivers': receivers(dialect),
    '0012-caller-signatures': callerSignatures,
    '0013-newest-versions': newestVersions(dialect),
    '0014-key-use': keyUse,
    '0015-key-rotation': keyRotation,
    '0016-spend-windows': spendWindows,
    '0017-approvals': approvals,
    '0018-audit-lines': auditLines(dialect),
  };
}

/**
 * Brings the database to this version's schema in one transaction, and returns the names of the migrations that ran. Throws if one fails,
 * or if the database has a migration that this version does not know; `StoreAwayError` if the database went away meanwhile. `schema`: where
 * PostgreSQL keeps the tables.
 */
export async function migrate(db: Kysely<unknown>, dialect: Dialect, schema?: string): Promise<string[]> {
  const provider = { getMigrations: async () => migrationsFor(dialect) };
  // Without a schema, kysely would take the migration table of another schema for this one.
  const migrator = new Migrator({ db, provider, ...(schema === undefined ? {} : { migrationTableSchema: schema }) });
  const { error, results } = await migrator.migrateToLatest();
  if (error !== undefined) {
    const message = error instanceof Error ? error.message : String(error);
    const unknown = /previously executed migration (\S+) is missing/.exec(message)?.[1];
    const advice = 'which this version does not know; run the version that created it, or restore a backup';
    const reason = unknown === undefined ? message : `it has migration ${unknown}, ${advice}`;
    const sentence = `cannot migrate the database to this version: ${reason}`;
    const away = asStoreAway(error);
    if (away instanceof StoreAwayError && !(away instanceof StoreBrokenError)) throw new StoreAwayError(sentence, { cause: error });
    throw new Error(sentence, { cause: error });
  }
  return (results ?? []).map((result) => result.migrationName);
}
