import { closeSync, existsSync, lstatSync, mkdirSync, openSync, readlinkSync, realpathSync, statSync, unlinkSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type Sqlite from 'better-sqlite3';
import { DatabaseLockedError } from '../database/database-locked-error.js';
import { sqlite } from '../sql/dialect.js';
import { type Instance, instanceStatements } from '../statements/instances.js';
import { sqliteDriver } from './driver.js';
import { openSqliteFile, SqliteFileError } from './open-sqlite-file.js';

/** The held lock. */
export interface SqliteLock {
  /** The resolved path of the database: all names of one file share one lock. */
  readonly file: string;
  readonly lockFile: string;
  release(): void;
}

/** As many as the kernel follows. */
const maxLinks = 40;

/** Creates a folder and those above it. Node.js, if asked for all of them, never ends below a folder that can have none, such as /proc. */
function makeFolder(folder: string): void {
  if (isFolder(folder)) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process may have been faster.
    if (!isFolder(folder)) throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Follows symbolic links to the end, also to a file that does not exist yet, and creates the folders on the way. */
function realFile(file: string): string {
  let path = resolve(file);
  for (let links = 0; links <= maxLinks; links += 1) {
    makeFolder(dirname(path));
    path = join(realpathSync(dirname(path)), basename(path));
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return path;
    path = resolve(dirname(path), readlinkSync(path));
  }
  throw new Error(`${file} is a chain of too many symbolic links`);
}

/** Throws if the file has several names: SQLite names the log after the path, so that each name would have a log of its own. */
export function requireOneName(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found?.isFile() === true && found.nlink > 1)
    throw new Error(`the database file ${file} has ${found.nlink} hard links; a database must have only one name: remove the others`);
}

/** The name of the copy that a restore or a backup works on, before it gives it the final name `file`. */
export function partialOf(file: string): string {
  return `${file}.partial`;
}

/**
 * Removes the first name of a database that a restore has put in place, if the restore was killed before it could. Call it under the lock.
 */
function removePartialName(file: string): void {
  const [found, partial] = [file, partialOf(file)].map((path) => lstatSync(path, { throwIfNoEntry: false }));
  if (found !== undefined && partial !== undefined && found.dev === partial.dev && found.ino === partial.ino) unlinkSync(partialOf(file));
}

/**
 * Creates the lock file readable by its owner only; SQLite gives the file's journal the same mode. An existing file is not opened: closing
 * it would release the lock that this process may hold on it.
 */
function createLockFile(lockFile: string): void {
  if (!existsSync(lockFile)) closeSync(openSync(lockFile, 'a', 0o600));
}

/** Creates the folder and the lock file of a database. */
function lockFileOf(file: string): { readonly real: string; readonly lockFile: string } {
  try {
    const real = realFile(file);
    const lockFile = `${real}.lock`;
    if (isFolder(real)) throw new Error('it is a folder');
    createLockFile(lockFile);
    return { real, lockFile };
  } catch (error) {
    throw new SqliteFileError(file, error);
  }
}

/** Undefined if the row cannot be read, for example while the holder runs its first migration. */
function holderOf(file: string): Instance | undefined {
  try {
    const db = new (sqliteDriver())(file, { readonly: true, fileMustExist: true });
    try {
      const { sql, bind } = instanceStatements(sqlite).holder;
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
  // Without it, nothing is created.
  sqliteDriver();
  const { real, lockFile } = lockFileOf(file);
  let lock: Sqlite.Database;
  try {
    lock = openSqliteFile(lockFile, { timeout: 0 }, (db) => db.exec('begin exclusive'));
  } catch (error) {
    if (error instanceof SqliteFileError && error.busy) throw new DatabaseLockedError(holderOf(real));
    throw error;
  }
  try {
    removePartialName(real);
    requireOneName(real);
  } catch (error) {
    lock.close();
    throw error;
  }
  return { file: real, lockFile, release: () => lock.close() };
}
