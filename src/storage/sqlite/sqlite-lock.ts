import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import Sqlite from 'better-sqlite3';
import { DatabaseLockedError } from '../database-locked-error.js';
import { sqlite } from '../dialect.js';
import { type Instance, instanceStatements } from '../statements/instances.js';
import { openSqliteFile, SqliteFileError } from './open-sqlite-file.js';

/** The held lock. */
export interface SqliteLock {
  /** The database's file, resolved: one lock for all ways to name it. */
  readonly file: string;
  release(): void;
}

function realFile(file: string): string {
  const path = resolve(file);
  mkdirSync(dirname(path), { recursive: true });
  return existsSync(path) ? realpathSync(path) : join(realpathSync(dirname(path)), basename(path));
}

/** Undefined where it cannot be told, as while the holder makes the tables. */
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
 * Takes the instance lock of a database file, making its folder: an exclusive transaction, never ended, on a file `<file>.lock` beside it.
 * The operating system frees it with the process, however that ends. Throws `DatabaseLockedError` when another has it.
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
