import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  rmSync,
  statSync,
  unlinkSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import type Sqlite from 'better-sqlite3';
import { openSqliteFile, SqliteFileError } from './open-sqlite-file.js';
import { partialOf } from './sqlite-lock.js';

/** The `user_version` of a backup. The service uses `user_version` for nothing else. */
const backupVersion = 1;

/**
 * Copies a database file, in use or not, into a new file that holds every commit made before the copy began and nothing else. Writers do not
 * wait. The copy is checked, readable by its owner only, and durable when this returns. Throws `SqliteFileError`, or an error whose message is
 * for the operator.
 */
export function backUpSqlite(file: string, target: string): void {
  // Also a symbolic link whose file does not exist.
  if (lstatSync(target, { throwIfNoEntry: false }) !== undefined) throw new Error(`${target} already exists; it is never overwritten`);
  const partial = partialOf(resolve(target));
  if (existsSync(partial))
    throw new Error(`${partial} was left by a backup that was killed, or another backup still runs; if none does, remove the file`);
  // Created first with mode 0600, so that other users can never read it.
  closeSync(openSync(partial, 'wx', 0o600));
  try {
    const source = openSqliteFile(file, { readonly: true, fileMustExist: true }, () => undefined);
    try {
      // The service's log grows until the copy is complete, so the copy does not wait for the disk. `publishDurably` does.
      source.pragma('synchronous = OFF');
      // Reads one state in one transaction. SQLite's backup interface copies by pages, but begins again after each commit of another process.
      source.prepare('vacuum into ?').run(partial);
    } finally {
      source.close();
    }
    const copy = openSqliteFile(partial, {}, (db) => {
      check(db);
      markBackup(db, true);
    });
    copy.close();
    publishDurably(partial, target);
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  }
}

/**
 * Copies a backup into a new file, checks the copy, because backups may be damaged where they are kept, and removes its mark. Throws an error
 * that names the backup.
 */
export function copyBackup(backup: string, target: string): void {
  try {
    const found = statSync(backup, { throwIfNoEntry: false });
    if (found === undefined) throw new Error('it does not exist');
    // To open a pipe would wait for its other end.
    if (!found.isFile()) throw new Error('it is not a regular file');
    copyFileSync(backup, target, constants.COPYFILE_EXCL);
    chmodSync(target, 0o600);
    const db = openSqliteFile(target, {}, (opened) => {
      if (!isBackup(opened)) throw new Error('it was not made by relayer backup');
      check(opened);
      markBackup(opened, false);
    });
    db.close();
  } catch (error) {
    rmSync(target, { force: true });
    const cause = error instanceof SqliteFileError ? error.cause : error;
    throw new Error(`cannot restore ${backup}: ${cause instanceof Error ? cause.message : cause}`, { cause });
  }
}

/** Throws if the database is a backup that was not restored: working on it would repeat sends that were made after the backup. */
export function requireNoBackup(db: Sqlite.Database): void {
  if (isBackup(db)) throw new Error('it is a backup; restore it with relayer restore (see docs/operations.md)');
}

/** Gives a complete file its name, which must be free, and waits until the file and its name are on disk. */
export function publishDurably(partial: string, target: string): void {
  syncFile(partial);
  // Unlike a rename, a link never replaces a file that another process has put there meanwhile.
  linkSync(partial, target);
  unlinkSync(partial);
  syncFile(dirname(resolve(target)));
}

function markBackup(db: Sqlite.Database, isMarked: boolean): void {
  db.pragma(`user_version = ${isMarked ? backupVersion : 0}`);
}

function isBackup(db: Sqlite.Database): boolean {
  return db.pragma('user_version', { simple: true }) === backupVersion;
}

function check(copy: Sqlite.Database): void {
  const found = copy.pragma('integrity_check', { simple: true });
  if (found !== 'ok') throw new Error(`the copy failed its integrity check, so the database may be damaged: ${found}`);
}

function syncFile(path: string): void {
  const descriptor = openSync(path, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}
