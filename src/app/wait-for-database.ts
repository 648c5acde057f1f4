import { StoreAwayError, StoreBrokenError } from '../core/ports/store/change.js';
import { pause } from '../core/work/abort.js';
import { monotonicMs } from '../core/work/clock.js';
import type { Log } from '../core/work/log.js';
import { asStoreAway } from '../storage/database/store-away.js';
import { addressFromUrl } from '../storage/database-url.js';

const retryDelayMs = { first: 250, longest: 2_000 };
/** The log repeats the reason so often. */
const reminderMs = 60_000;

/**
 * Opens the database, again and again while a PostgreSQL server cannot be reached, starts or stops: both may start at the same time. Every
 * other error is thrown at once.
 */
export async function openWhenReachable<T>(databaseUrl: string, open: () => Promise<T>, log: Log): Promise<T> {
  const isServer = addressFromUrl(databaseUrl).dialect === 'postgres';
  const startedMs = monotonicMs();
  let logged = { message: '', atMs: 0 };
  for (let failures = 0; ; failures += 1) {
    try {
      const opened = await open();
      if (failures > 0) log.info({ waitedMs: Math.round(monotonicMs() - startedMs) }, 'PostgreSQL is reachable; the start goes on');
      return opened;
    } catch (error) {
      const away = asStoreAway(error);
      if (!isServer || !(away instanceof StoreAwayError) || away instanceof StoreBrokenError) throw error;
      const nowMs = monotonicMs();
      if (away.message !== logged.message || nowMs - logged.atMs >= reminderMs) {
        log.warn({ err: error }, 'the start waits for PostgreSQL, which cannot be reached; retrying');
        logged = { message: away.message, atMs: nowMs };
      }
    }
    await pause(Math.min(retryDelayMs.longest, retryDelayMs.first * 2 ** failures));
  }
}
