import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fdatasync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  realpathSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type Sqlite from 'better-sqlite3';
import { repeat } from '../../core/work/repeat.js';
import { shareRun } from '../../core/work/share-run.js';
import { openSqliteFile, SqliteFileError } from './open-sqlite-file.js';
import { partialOf, requireOneName } from './sqlite-lock.js';

/** The `user_version` of a backup. The service uses `user_version` for nothing else. */
const backupVersion = 1;
/** Where a database file has it. */
const userVersionOffset = 60;

const copyProgram = fileURLToPath(new URL('./copy-database.js', import.meta.url));
const megabyte = 1024 * 1024;
/** How much the log of a database smaller than this may grow during a backup, if the disk has room. */
const usualGrowthBytes = 1_024 * megabyte;
/** How much it may grow on any disk. */
const leastGrowthBytes = 64 * megabyte;
const logCheckMs = 100;

/**
 * Copies a database file, in use or not, into a new file that holds every commit made before the copy began and nothing else. Writers do
 * not wait. While the copy is made, the log of the database grows; the copy is given up if the log grows by more than `maxGrowthBytes`. The
 * copy is checked, readable by its owner only, and durable when this resolves. Rejects with an error whose message is for the operator.
 */
export async function backUpSqlite(file: string, target: string, maxGrowthBytes?: number): Promise<void> {
  // SQLite names the log after the path: through another name, the copy would lack the newest commits.
  requireOneName(file);
  // Also a symbolic link whose file does not exist.
  if (lstatSync(target, { throwIfNoEntry: false }) !== undefined) throw new Error(`${target} already exists; it is never overwritten`);
  const partial = partialOf(resolve(target));
  if (existsSync(partial))
    throw new Error(`${partial} was left by a backup that was killed, or another backup still runs; if none does, remove the file`);
  // Created first with mode 0600, so that other users can never read it.
  closeSync(openSync(partial, 'wx', 0o600));
  // Of a backup that was killed.
  rmSync(`${partial}-journal`, { force: true });
  try {
    await copyWatched(file, partial, maxGrowthBytes ?? growthLimit(file, partial));
    const copy = openSqliteFile(partial, {}, (db) => {
      check(db, 'database');
      markBackup(db, true);
    });
    copy.close();
    publishDurably(partial, target);
  } catch (error) {
    for (const path of [partial, `${partial}-journal`]) rmSync(path, { force: true });
    throw error;
  }
}

/** Copies one state of the database, and ends that early if its log grows too much: on a full disk the service could store nothing. */
async function copyWatched(file: string, partial: string, maxGrowthBytes: number): Promise<void> {
  const bytesBefore = logBytes(file);
  const child = spawn(process.execPath, [copyProgram, file, partial], { stdio: ['ignore', 'ignore', 'pipe'], env: {} });
  let isGivenUp = false;
  const copy = openSync(partial, 'r');
  // Little by little: one sync of the whole copy would hold up the commits of a service on the same disk for seconds.
  const sync = shareRun(() => syncLater(copy));
  const watch = async () => {
    void sync();
    if (logBytes(file) - bytesBefore <= maxGrowthBytes) return;
    isGivenUp = true;
    child.kill('SIGKILL');
  };
  const watching = repeat(watch, logCheckMs, { onError: () => child.kill('SIGKILL'), runsAtOnce: false });
  try {
    const [problem, [code, signal]] = await Promise.all([text(child.stderr), once(child, 'close')]);
    if (isGivenUp)
      throw new Error(
        `${file}-wal grew by more than ${Math.floor(maxGrowthBytes / megabyte)} MB during the copy, which was given up; back up to a faster disk, or while the service stores less`,
      );
    if (code !== 0) throw new Error(problem === '' ? `the process that copies ended with ${signal ?? `exit code ${code}`}` : problem);
  } finally {
    await watching.stop();
    await sync.current();
    closeSync(copy);
  }
}

/** Syncs without an error: `publishDurably` reports it. */
function syncLater(descriptor: number): Promise<void> {
  return new Promise((resolve) => fdatasync(descriptor, () => resolve()));
}

/** Returns how much the log may grow: as much as the database has, but at most half of the space that the copy leaves on the disk. */
function growthLimit(file: string, partial: string): number {
  const found = statSync(file, { throwIfNoEntry: false });
  // The copy itself reports what is wrong.
  if (found === undefined) return leastGrowthBytes;
  const { bavail, bsize } = statfsSync(file);
  const copyBytes = statSync(partial).dev === found.dev ? found.size : 0;
  const spareBytes = bavail * bsize - copyBytes;
  return Math.max(leastGrowthBytes, Math.min(Math.max(usualGrowthBytes, found.size), spareBytes / 2));
}

function logBytes(file: string): number {
  return existsSync(file) ? (statSync(`${realpathSync(file)}-wal`, { throwIfNoEntry: false })?.size ?? 0) : 0;
}

/**
 * Copies a backup into a new file, checks the copy, because backups may be damaged where they are kept, and removes its mark. Throws an
 * error that names the backup.
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
      check(opened, 'backup');
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
  if (isBackup(db))
    throw new Error(
      'it is a backup, or was overwritten while the service used it; restore it with relayer restore (see docs/operations.md)',
    );
}

/**
 * Keeps SQLite from writing the log of a damaged database into its file when it closes it: the two no longer belong together. A copy of the
 * log stays as `<file>-wal.damaged`.
 */
export function emptyLog(file: string): void {
  copyFileSync(`${file}-wal`, `${file}-wal.damaged`);
  truncateSync(`${file}-wal`);
}

/**
 * Marks a closed database as a backup without SQLite, which may not be able to read it. An empty file, which would be a new database,
 * becomes one that SQLite rejects.
 */
export function markDamaged(file: string): void {
  const version = Buffer.alloc(4);
  version.writeUInt32BE(backupVersion);
  const descriptor = openSync(file, 'r+');
  writeSync(descriptor, version, 0, version.length, userVersionOffset);
  fsyncSync(descriptor);
  closeSync(descriptor);
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

function check(copy: Sqlite.Database, original: 'database' | 'backup'): void {
  const found = copy.pragma('integrity_check', { simple: true });
  if (found !== 'ok') throw new Error(`the copy failed its integrity check, so the ${original} may be damaged: ${found}`);
}

function syncFile(path: string): void {
  const descriptor = openSync(path, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}
