import { chmodSync, constants, copyFileSync, rmSync } from 'node:fs';
import { isBackup, markBackup } from './backup-mark.js';
import { openSqliteFile } from './open-sqlite-file.js';

/** Copies a backup to a new file that can be worked on. Throws `SqliteFileError` where it is none, and what copying throws. */
export function copyBackup(backup: string, target: string): void {
  copyFileSync(backup, target, constants.COPYFILE_EXCL);
  try {
    chmodSync(target, 0o600);
    const db = openSqliteFile(target, {}, (opened) => {
      if (!isBackup(opened)) throw new Error('it is not a copy that relayer backup made');
      markBackup(opened, false);
    });
    db.close();
  } catch (error) {
    rmSync(target, { force: true });
    throw error;
  }
}
