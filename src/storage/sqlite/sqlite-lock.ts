import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import Sqlite from 'better-sqlite3';
import { DatabaseLockedError } from '../database-locked-error.js';
import { sqlite } from '../dialect.js';
import { type Instance, instanceStatements } from '../statements/instances.js';
import { openSqliteFile, SqliteFileError } from './open-sqlite-file.js';

/** The held lock. */
export interface SqliteLock {
  /** The resolved path of the database: all names of one file share one lock. */
  readonly file: string;
  release(): void;
}

function realFile(file: string): string {
  const path = resolve(file);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  return existsSync(path) ? realpathSync(path) : join(realpathSync(dirname(path)), basename(path));
}

/** Undefined if the row cannot be read, for example while the holder runs its first migration. */
function holderOf(file: string): Instance | undefined {
  try {
    const db = new Sqlite(file, { readonly: true, fileMustExist: true });
    try {
      const { sql, bind } = instanceStatements(sqlite.builder).holder;
      return db.prepare<unknown[], Instance>(sql).get(bind({ number: 1 }));
    } finally {
      db.close();
    }
  } catch {
    return undefined;
  }
}

/**
 * Takes the instance lock of a database file and creates its folder. The lock is an exclusive transaction on `<file>.lock` that never ends;
 * the operating system releases it when the process ends in any way. Throws `DatabaseLockedError` if another process holds the lock.
 */
export function takeSqliteLock(file: string): SqliteLock {
  const real = realFile(file);
  let lock: Sqlite.Database;
  try {
    lock = openSqliteFile(`${real}.lock`, { timeout: 0 }, (db) => db.exec('begin exclusive'));
  } catch (error) {
    if (error instanceof SqliteFileError && error.busy) throw new DatabaseLockedError(holderOf(real));
    throw error;
  }
  return { file: real, release: () => lock.close() };
}
