import { appendFile } from 'node:fs/promises';
import type { HeldTransaction } from '../core/ports/database-state.js';
import type { Log } from '../core/work/log.js';

/** Keeps transactions outside the database. */
export interface HeldFile {
  /** Returns at once. */
  keep(held: readonly HeldTransaction[]): void;
  /** Resolves when everything is written that was given before. */
  written(): Promise<void>;
}

/** Transactions that are written at once: thousands of lanes may be held in one moment, and nothing else waits long. */
const writtenAtOnce = 100;

/**
 * Keeps transactions outside the database, which may lack them: the signed ones in the log, and all of them as lines of JSON in this file,
 * readable by its owner only. Null: no file.
 */
export function createHeldFile(path: string | null, log: Pick<Log, 'warn' | 'error'>): HeldFile {
  let writing = Promise.resolve();

  async function write(held: readonly HeldTransaction[], time: string): Promise<void> {
    for (const one of held)
      if (one.hashes.length > 0) log.warn({ ...one, hashes: one.hashes.join(' ') }, 'a transaction was signed before signing was stopped');
    const lines = held.map((one) => `${JSON.stringify({ time, ...one })}\n`);
    if (path !== null) await appendFile(path, lines.join(''), { mode: 0o600 });
  }

  return {
    keep(held) {
      const time = new Date().toISOString();
      for (let start = 0; start < held.length; start += writtenAtOnce)
        writing = writing
          .then(() => write(held.slice(start, start + writtenAtOnce), time))
          .catch((error: unknown) => log.error({ err: error, file: path }, 'cannot write HELD_TRANSACTIONS_FILE'));
    },
    written: () => writing,
  };
}
