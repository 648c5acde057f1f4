import { randomUUID } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import type { Store } from '../core/ports/store/store.js';
import { type Ended, endWaiting } from '../core/transaction/end-waiting.js';
import type { Log } from '../core/work/log.js';
import { addressFromUrl } from './database-url.js';
import { openStore } from './open-store.js';
import { copyBackup, publishDurably } from './sqlite/sqlite-backup.js';
import { partialOf, takeSqliteLock } from './sqlite/sqlite-lock.js';

/** How to restore. */
export interface RestoreOptions {
  /** The database has every commit that the service has answered, so nothing is ended. */
  readonly isComplete?: boolean;
  /** Called for each page of transactions that was ended. A restore of a file that fails after that has changed nothing. */
  readonly onEnded?: (ended: Ended) => void;
}

/**
 * Restores the database at this URL and ends the transactions that must not be signed again. `backup` is a copy that `backUp` made; it is
 * put in place only if no database exists there. If it is null, other tools have restored the database already. Returns the database file
 * that was put in place; null if other tools have restored the database. Throws an error whose message is for the operator, and the errors
 * of `openStore`.
 */
export async function restore(databaseUrl: string, backup: string | null, log: Log, options: RestoreOptions = {}): Promise<string | null> {
  const address = addressFromUrl(databaseUrl);
  if (backup === null) {
    if (address.dialect === 'sqlite' && !existsSync(address.file)) throw new Error(`${address.file} does not exist; restore it first`);
    await endWaitingIn(databaseUrl, log, options);
    return null;
  }
  if (address.dialect === 'postgres')
    throw new Error(
      'relayer restore accepts a file only for SQLite; restore PostgreSQL with pg_restore, then run relayer restore without a file',
    );
  // Until the copy is in place, no service may start on a new database at this path, and none may still work on the old one.
  const lock = takeSqliteLock(address.file);
  try {
    await restoreInto(lock.file, backup, log, options);
    return lock.file;
  } finally {
    lock.release();
  }
}

async function restoreInto(target: string, backup: string, log: Log, { onEnded }: RestoreOptions): Promise<void> {
  requireNothingAt(target);
  const partial = partialOf(target);
  // Left by a restore that was killed: the lock shows that it no longer runs.
  removeDatabase(partial);
  try {
    copyBackup(backup, partial);
    await endWaitingIn(`sqlite:${partial}`, log, onEnded && { onEnded });
    requireNoLog(partial);
    // A service of an older version may have ignored the lock.
    requireNothingAt(target);
    publishDurably(partial, target);
  } finally {
    removeDatabase(partial);
  }
}

/** SQLite would replay another database's leftover log into this one. */
function requireNothingAt(target: string): void {
  const present = ['', '-wal', '-shm', '-journal'].map((end) => `${target}${end}`).find((file) => existsSync(file));
  if (present !== undefined) throw new Error(`${present} already exists; first move the database away, with its -wal and -shm files`);
}

/**
 * Closing the copy moves its log into it, unless another program uses the copy or the disk is full. Without its log, waiting transactions
 * would be sent.
 */
function requireNoLog(copy: string): void {
  if (existsSync(`${copy}-wal`))
    throw new Error(`cannot complete ${copy}: another program uses it, or the disk is full; nothing was restored`);
}

function removeDatabase(file: string): void {
  for (const end of ['', '.lock', '-wal', '-shm', '-journal']) rmSync(`${file}${end}`, { force: true });
}

async function endWaitingIn(databaseUrl: string, log: Log, options: RestoreOptions = {}): Promise<void> {
  const { store } = await openStore(databaseUrl, { log, acceptsCopy: true });
  try {
    await acceptRestored(store, Date.now(), options);
  } finally {
    await store.close();
  }
}

/** Ends the transactions of a database that must not be signed again, and lets the service start on it. */
export async function acceptRestored(
  store: Pick<Store, 'read' | 'change' | 'commit'>,
  nowMs: number,
  { isComplete = false, onEnded }: RestoreOptions = {},
): Promise<void> {
  // The original may have given positions away since the backup, which this database now uses for other changes.
  await store.commit([store.change.replaceDatabaseId(randomUUID())]);
  if (!isComplete) await endWaiting(store, nowMs, onEnded);
  // Last: after an end in between, the service must not start on what still waits.
  await store.commit([store.change.acceptDatabase()]);
}
