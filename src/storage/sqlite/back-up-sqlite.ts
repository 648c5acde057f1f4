import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type Sqlite from 'better-sqlite3';
import { markBackup } from './backup-mark.js';
import { openSqliteFile } from './open-sqlite-file.js';

/**
 * Copies a database file, which may be in use, into a new file: all that was committed when it began, and nothing half. Writers do not wait for it. The
 * copy is checked, readable by its owner only, and on the disk when this returns. Throws `SqliteFileError`, or an error with a sentence for the operator.
 */
export function backUpSqlite(file: string, target: string): void {
  if (existsSync(target)) throw new Error(`${target} already exists; it is never overwritten`);
  const partial = `${resolve(target)}.partial`;
  // Made first, so that nobody else may read it at any time.
  closeSync(openSync(partial, 'wx', 0o600));
  try {
    const source = openSqliteFile(file, { readonly: true, fileMustExist: true }, () => undefined);
    try {
      // One read of one state; the backup interface would begin again at every commit.
      source.prepare('vacuum into ?').run(partial);
    } finally {
      source.close();
    }
    const copy = openSqliteFile(partial, {}, (db) => {
      check(db);
      markBackup(db, true);
    });
    copy.close();
    moveDurably(partial, target);
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  }
}

function check(copy: Sqlite.Database): void {
  const found = copy.pragma('integrity_check', { simple: true });
  if (found !== 'ok') throw new Error(`the copy is damaged, as the database may be: ${found}`);
}

/** Gives a whole file its name, and waits until both are on the disk. */
export function moveDurably(partial: string, target: string): void {
  syncFile(partial);
  renameSync(partial, target);
  syncFile(dirname(resolve(target)));
}

function syncFile(path: string): void {
  const descriptor = openSync(path, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}
