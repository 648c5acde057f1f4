import { pause } from '../../core/work/abort.js';
import { monotonicMs } from '../../core/work/clock.js';
import { sqliteDriver } from './driver.js';

/** How long to wait for another program that locks the file for a moment, such as a backup tool. */
export const lockPatienceMs = 5_000;
const retryAfterMs = 10;

/**
 * Runs a task that SQLite refuses while another program locks the file, and runs it again until it works or the patience ends. Between two
 * tries the event loop runs on: SQLite's own busy timeout would hold it. The task must change nothing if it throws.
 */
export async function whenUnlocked<T>(task: () => T): Promise<T> {
  const untilMs = monotonicMs() + lockPatienceMs;
  for (;;) {
    try {
      return task();
    } catch (error) {
      if (!isLocked(error) || monotonicMs() >= untilMs) throw error;
    }
    await pause(retryAfterMs);
  }
}

/** True if another connection locks the file. */
export function isLocked(error: unknown): boolean {
  return error instanceof sqliteDriver().SqliteError && error.code.startsWith('SQLITE_BUSY');
}
