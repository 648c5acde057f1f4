import { chmodSync, closeSync, openSync, statSync } from 'node:fs';
import type Sqlite from 'better-sqlite3';
import { Kysely, SqliteAdapter, SqliteDialect } from 'kysely';
import type { RunBatch } from '../database/commit-queue.js';
import type { Database, LockedDatabase } from '../database/database.js';
import { migrate } from '../database/migrate.js';
import { sqlite } from '../sql/dialect.js';
import type { Query, Statement } from '../sql/statement.js';
import { startCheckpointer } from './checkpointer.js';
import { openSqliteFile } from './open-sqlite-file.js';
import { emptyLog, markDamaged, requireNoBackup } from './sqlite-backup.js';
import { createSqliteBatch, preparedStatements } from './sqlite-batch.js';
import { takeSqliteLock } from './sqlite-lock.js';
import { createSqliteOwnership } from './sqlite-ownership.js';
import { lockPatienceMs, whenUnlocked } from './when-unlocked.js';

const ownerOnly = 0o600;
/** The log shrinks to this size once no reader needs more of it. */
const maxLogBytes = 16 * 1024 * 1024;

/** Makes kysely run the migrations of SQLite in a transaction too: a kill must not leave half a migration. */
class MigratingDialect extends SqliteDialect {
  override createAdapter(): SqliteAdapter {
    return new (class extends SqliteAdapter {
      override get supportsTransactionalDdl(): boolean {
        return true;
      }
    })();
  }
}

/** Lets only the owner read the database: it holds callers' data and sealed secrets. SQLite gives its log the mode of the file. */
function restrictMode(file: string): void {
  closeSync(openSync(file, 'a', ownerOnly));
  for (const path of [file, `${file}-wal`, `${file}-shm`, `${file}.lock`]) {
    try {
      chmodSync(path, ownerOnly);
    } catch {
      // It is missing, or belongs to another user who decided.
    }
  }
}

function openWriter(file: string): Sqlite.Database {
  return openSqliteFile(file, { timeout: lockPatienceMs }, (writer) => {
    restrictMode(file);
    requireNoBackup(writer);
    writer.pragma('journal_mode = WAL');
    // In WAL mode, a lower level loses acknowledged commits at a power failure.
    writer.pragma('synchronous = FULL');
    writer.pragma('foreign_keys = ON');
    // Without a limit, the log keeps the size to which an open reader, such as a backup, made it grow.
    writer.pragma(`journal_size_limit = ${maxLogBytes}`);
    // Overwrites deleted content, such as a secret under an earlier key, if its page is written anyway.
    writer.pragma('secure_delete = FAST');
  });
}

async function migrateFile(file: string): Promise<string[]> {
  const db = new Kysely<unknown>({ dialect: new MigratingDialect({ database: openWriter(file) }) });
  try {
    return await migrate(db, sqlite);
  } finally {
    await db.destroy();
  }
}

/** Opens a database file. Closing it calls `release`. `lockFiles`: the further files that must stay in place while it is open. */
function openFile(file: string, lockFiles: readonly string[], release: () => void): Database {
  const writer = openWriter(file);
  const reader = openSqliteFile(file, { readonly: true, timeout: lockPatienceMs }, (db) => db.pragma('query_only = ON'));
  // Nothing is served before the file is open. From now on no lock may hold the event loop.
  for (const db of [writer, reader]) db.pragma('busy_timeout = 0');
  const prepared = preparedStatements(reader);
  const query: Query = <P extends object, R>(statement: Statement<P, R>, values: P) =>
    whenUnlocked(() => prepared(statement).all(statement.bind(values)) as R[]);
  const ownership = createSqliteOwnership(writer, file, lockFiles);
  const logBytes = () => statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  const checkpointer = startCheckpointer(file, writer, logBytes);
  const runUnguarded = createSqliteBatch(writer, ownership.requireToken);
  const runBatch: RunBatch = async (lists) => {
    ownership.requireFiles();
    const outcomes = await whenUnlocked(() => runUnguarded(lists));
    // A batch written into a file without a name is lost, so the callers must not get a success.
    ownership.requireFiles();
    return outcomes;
  };
  return {
    runBatch,
    query,
    async own(record) {
      const { own, change } = record(null);
      const [outcome] = await whenUnlocked(() => runUnguarded([[change]]));
      if (outcome !== undefined) throw outcome;
      ownership.requireRecord(own);
      return own;
    },
    ownNumber: () => 1,
    connections: () => 1,
    isRemoved: () => false,
    rewind: () => null,
    lost: ownership.lost,
    isAway: () => false,
    onReturn: () => undefined,
    logBytes,
    close: async () => {
      checkpointer.stop();
      ownership.stop();
      // Beside a service, the service does this.
      const isDamaged = lockFiles.length > 0 && ownership.isDamaged();
      if (isDamaged) emptyLog(file);
      reader.close();
      writer.close();
      // It lacks commits that the log had. A next start would work on an older state, and send again what was sent since.
      if (isDamaged) markDamaged(file);
      release();
    },
  };
}

/** Opens a database file without its instance lock, beside the process that holds it. Must not write nonces, which the lock protects. */
export function openSqliteBeside(file: string): Database {
  return openFile(file, [], () => {});
}

/** Takes the instance lock of a database file. Throws `DatabaseLockedError` if another process holds it. */
export function lockSqlite(file: string): LockedDatabase {
  const lock = takeSqliteLock(file);
  return {
    migrate: () => migrateFile(lock.file),
    open: async () => openFile(lock.file, [lock.lockFile], lock.release),
    unlock: async () => lock.release(),
  };
}
