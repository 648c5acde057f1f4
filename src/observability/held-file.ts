import { appendFileSync } from 'node:fs';
import type { HeldTransaction } from '../core/ports/database-state.js';
import type { Log } from '../core/work/log.js';

/**
 * Returns a function that keeps transactions outside the database, which may lack them: the signed ones in the log, and all of them as
 * lines of JSON in this file, readable by its owner only. Null: no file.
 */
export function createHeldFile(path: string | null, log: Pick<Log, 'warn' | 'error'>): (held: readonly HeldTransaction[]) => void {
  return (held) => {
    for (const one of held)
      if (one.hashes.length > 0) log.warn({ ...one, hashes: one.hashes.join(' ') }, 'a transaction was signed before signing was stopped');
    if (path === null || held.length === 0) return;
    const time = new Date().toISOString();
    try {
      appendFileSync(path, held.map((one) => `${JSON.stringify({ time, ...one })}\n`).join(''), { mode: 0o600 });
    } catch (error) {
      log.error({ err: error, file: path }, 'cannot write HELD_TRANSACTIONS_FILE');
    }
  };
}
