import type Sqlite from 'better-sqlite3';
import { sqliteDriver } from './driver.js';
import { isLocked } from './when-unlocked.js';

/** Codes of SQLite and Node.js: a lock, a full disk, and a system without resources. */
const passing = /^(SQLITE_(BUSY|FULL|IOERR|NOMEM)(_.*)?|ENOSPC|EDQUOT|EIO|EMFILE|ENFILE)$/;

/** Thrown if a database file cannot be opened. Its message names the file; SQLite's own error, the cause, does not. */
export class SqliteFileError extends Error {
  override readonly name = 'SqliteFileError';
  /** True if another connection locks the file. */
  readonly busy: boolean;
  /** True if the same file may open later; false: the path is wrong, or its rights are. */
  readonly mayPass: boolean;

  constructor(file: string, cause: unknown) {
    super(`cannot open the database file ${file}: ${cause instanceof Error ? cause.message : cause}`, { cause });
    this.busy = isLocked(cause);
    this.mayPass = passing.test(String((cause as { readonly code?: unknown } | null)?.code));
  }
}

/** Opens a database file and runs `setUp`, since SQLite reads nothing of the file before the first statement. Throws `SqliteFileError`. */
export function openSqliteFile(file: string, options: Sqlite.Options, setUp: (db: Sqlite.Database) => void): Sqlite.Database {
  const Database = sqliteDriver();
  let db: Sqlite.Database | undefined;
  try {
    db = new Database(file, options);
    setUp(db);
    return db;
  } catch (cause) {
    db?.close();
    throw new SqliteFileError(file, cause);
  }
}
