import type Sqlite from 'better-sqlite3';
import { sqliteDriver } from './driver.js';
import { isLocked } from './when-unlocked.js';

/** Thrown if a database file cannot be opened. Its message names the file; SQLite's own error, the cause, does not. */
export class SqliteFileError extends Error {
  override readonly name = 'SqliteFileError';
  /** True if another connection locks the file. */
  readonly busy: boolean;

  constructor(file: string, cause: unknown) {
    super(`cannot open the database file ${file}: ${cause instanceof Error ? cause.message : cause}`, { cause });
    this.busy = isLocked(cause);
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
