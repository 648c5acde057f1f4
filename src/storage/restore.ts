import { randomUUID } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Log } from '../core/ports/log.js';
import { type Ended, endWaiting } from '../core/transaction/end-waiting.js';
import { addressFromUrl } from './database-url.js';
import { openStore } from './open-store.js';
import { copyBackup, moveDurably } from './sqlite/sqlite-backup.js';

/**
 * Restores the database at this URL and ends the transactions that must not be signed again. `backup` is a copy that `backUp` made; it is put in
 * place only if no database exists there. If it is null, other tools have restored the database already. Throws an error whose message is for
 * the operator, and the errors of `openStore`.
 */
export async function restore(databaseUrl: string, backup: string | null, log: Log): Promise<Ended> {
  if (backup === null) return endWaitingIn(databaseUrl, log);
  const address = addressFromUrl(databaseUrl);
  if (address.dialect === 'postgres')
    throw new Error(
      'relayer restore accepts a file only for SQLite; restore PostgreSQL with pg_restore, then run relayer restore without a file',
    );
  const target = resolve(address.file);
  // SQLite would replay another database's leftover log into this one.
  const present = ['', '-wal', '-shm', '-journal'].map((end) => `${target}${end}`).find((file) => existsSync(file));
  if (present !== undefined) throw new Error(`${present} already exists; first move the database away, with its -wal and -shm files`);
  const partial = `${target}.partial`;
  copyBackup(backup, partial);
  try {
    const ended = await endWaitingIn(`sqlite:${partial}`, log);
    moveDurably(partial, target);
    return ended;
  } finally {
    for (const left of ['', '.lock', '-wal', '-shm']) rmSync(`${partial}${left}`, { force: true });
  }
}

async function endWaitingIn(databaseUrl: string, log: Log): Promise<Ended> {
  const { store } = await openStore(databaseUrl, { log });
  try {
    // The original may have given positions away since the backup, which this database now uses for other changes.
    await store.commit([store.change.replaceDatabaseId(randomUUID())]);
    return await endWaiting(store, Date.now());
  } finally {
    await store.close();
  }
}
