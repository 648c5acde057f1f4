import { existsSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Log } from '../core/ports/log.js';
import { type Ended, endWaiting } from '../core/transaction/end-waiting.js';
import { addressFromUrl } from './database-url.js';
import { openStore } from './open-store.js';
import { moveDurably } from './sqlite/back-up-sqlite.js';
import { copyBackup } from './sqlite/copy-backup.js';

/**
 * Makes the database at this URL one that was restored to an older state, ending what must not be signed again. `backup`: a copy that `backUp` made, put in
 * place where no database is yet; null: the database is as it should be, restored by its own tools. Throws an error with a sentence for the operator, and
 * as `openStore` does.
 */
export async function restore(databaseUrl: string, backup: string | null, log: Log): Promise<Ended> {
  if (backup === null) return endWaitingIn(databaseUrl, log);
  const address = addressFromUrl(databaseUrl);
  if (address.dialect === 'postgres')
    throw new Error('a PostgreSQL database is restored by its own tools; then run relayer restore without a file');
  const target = resolve(address.file);
  // A log that another database left there would be replayed into this one.
  const present = ['', '-wal', '-shm', '-journal'].map((end) => `${target}${end}`).find((file) => existsSync(file));
  if (present !== undefined) throw new Error(`${present} already exists; move it away first, the database with its -wal and -shm files`);
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
    return await endWaiting(store, Date.now());
  } finally {
    await store.close();
  }
}
