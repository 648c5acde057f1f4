import type Sqlite from 'better-sqlite3';

/** What `user_version`, which nothing else here uses, says in a copy that was made as a backup. */
const backupVersion = 1;

/** Marks a copy as a backup, or takes the mark away. */
export function markBackup(db: Sqlite.Database, isMarked: boolean): void {
  db.pragma(`user_version = ${isMarked ? backupVersion : 0}`);
}

/** True for a copy that was made as a backup. */
export function isBackup(db: Sqlite.Database): boolean {
  return db.pragma('user_version', { simple: true }) === backupVersion;
}

/** Throws for a copy that was not restored, with what the operator is to do. Nobody works on one by mistake: what was sent since would be sent again. */
export function requireNoBackup(db: Sqlite.Database): void {
  if (isBackup(db)) throw new Error('it is a backup; put it in place with relayer restore (see docs/operations.md)');
}
