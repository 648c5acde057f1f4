import { closeSync, openSync, readSync, statSync } from 'node:fs';
import type Sqlite from 'better-sqlite3';
import { later } from '../../core/work/later.js';
import { repeat } from '../../core/work/repeat.js';
import { systemTimers } from '../../core/work/timers.js';
import { sqlite } from '../sql/dialect.js';
import { instanceStatements, type OwnRow } from '../statements/instances.js';

/** How often an idle service checks that its files are still in place. */
const checkIntervalMs = 1_000;

/** The first bytes of a log that has content, in either byte order of its checksums. */
const logMagics: ReadonlySet<number> = new Set([0x377f0682, 0x377f0683]);

/** Checks that the open database is still the one at its path, and still ours. */
export interface SqliteOwnership {
  /** From now on each batch requires this record of the owner. */
  requireRecord(own: OwnRow): void;
  /** Throws if another process has recorded itself as the owner: it could take the lock because our lock file was deleted. */
  requireToken(): void;
  /**
   * Throws if one of the files was removed or replaced, because SQLite writes on into the old one, which no later start finds; or if the
   * database or its log was cut off or overwritten in place, because SQLite relies on what it wrote there.
   */
  requireFiles(): void;
  /** True if `requireFiles` has found that the database or its log was overwritten or cut off. */
  isDamaged(): boolean;
  /** Resolves with the first error that these methods, or the check once a second, find. */
  readonly lost: Promise<Error>;
  stop(): void;
}

/**
 * Remembers the files as they are now: the database, its log and the index of the log, and `lockFiles`. `file` is null for a database in
 * memory.
 */
export function createSqliteOwnership(writer: Sqlite.Database, file: string | null, lockFiles: readonly string[] = []): SqliteOwnership {
  const { sql, bind } = instanceStatements(sqlite).fence;
  // A read creates the log and its index, if they are missing.
  writer.pragma('schema_version');
  const paths = file === null ? [] : [file, `${file}-wal`, `${file}-shm`, ...lockFiles];
  const known = paths.map((path) => ({ path, identity: identityOf(path) }));
  let largestBytes = file === null ? 0 : statSync(file).size;
  // SQLite has no lock on the log, which closing it would release.
  const log = file === null ? null : openSync(`${file}-wal`, 'r');
  let fence: Sqlite.Statement<unknown[]> | null = null;
  let values: unknown[] = [];
  let loss: Error | null = null;
  let isDamaged = false;
  const lost = later<Error>();

  function lose(message: string): never {
    loss ??= new Error(message);
    lost.resolve(loss);
    throw loss;
  }

  function requireFiles(): void {
    if (loss !== null) throw loss;
    const changed = known.find(({ path, identity }) => identityOf(path) !== identity);
    if (changed !== undefined)
      lose(`${changed.path} was removed or replaced while the service uses it; put the original back if it still exists, and start again`);
    if (file === null || log === null) return;
    const damaged = isCutOff(file) ? file : isOverwritten(log) ? `${file}-wal` : undefined;
    if (damaged === undefined) return;
    isDamaged = true;
    lose(`${damaged} was overwritten or cut off while the service uses it; restore a backup (see docs/operations.md)`);
  }

  /** SQLite makes the file smaller only after another program has made the database smaller, by VACUUM. */
  function isCutOff(path: string): boolean {
    const bytes = statSync(path).size;
    if (bytes < largestBytes && databaseBytes(writer) >= largestBytes) return true;
    largestBytes = bytes;
    return false;
  }

  // `lost` has resolved with the error. Who waits for it needs the process.
  const checking = repeat(async () => requireFiles(), checkIntervalMs, {
    onError: () => undefined,
    runsAtOnce: false,
    timers: systemTimers,
  });

  return {
    requireRecord(own) {
      fence = writer.prepare<unknown[]>(sql);
      values = bind(own);
    },
    requireToken() {
      if (fence !== null && fence.get(values) === undefined) lose('another process took over the database; only one process can use it');
    },
    requireFiles,
    isDamaged: () => isDamaged,
    lost: lost.promise,
    stop() {
      void checking.stop();
      if (log !== null) closeSync(log);
    },
  };
}

/** Returns the identity of a file, which does not depend on its path; null if it does not exist. */
function identityOf(file: string): string | null {
  const found = statSync(file, { throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev}:${found.ino}`;
}

/** Returns the size of the database by its last commit, of which the file may lack what is only in the log. */
function databaseBytes(db: Sqlite.Database): number {
  return Number(db.pragma('page_count', { simple: true })) * Number(db.pragma('page_size', { simple: true }));
}

/** True if the log has content but not the beginning of a log. SQLite then writes on behind it, and a later start finds no log. */
function isOverwritten(log: number): boolean {
  const start = Buffer.alloc(4);
  return readSync(log, start, 0, start.length, 0) > 0 && !logMagics.has(start.readUInt32BE());
}
