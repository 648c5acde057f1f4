import { sqliteDriver } from './driver.js';

/*
 * A program, started by `startCheckpointer`: copies the log of a database into its file and empties the log. Commits wait only for the end
 * of it.
 *
 *     node checkpoint.js <file>
 */

/** Emptying the log locks writers out, so at most this many pages may be left to copy at that time. */
const maxLockedPages = 4_000;
/** How long it waits for readers at the end. Commits wait too. */
const patienceMs = 50;

const [, , file = ''] = process.argv;
const db = new (sqliteDriver())(file, { fileMustExist: true, timeout: patienceMs });
db.pragma('synchronous = FULL');
let copied = 0;
for (;;) {
  const { log, checkpointed } = checkpoint('passive');
  if (log - checkpointed <= maxLockedPages) {
    checkpoint('truncate');
    break;
  }
  // A reader still needs the rest.
  if (checkpointed <= copied) break;
  copied = checkpointed;
}
db.close();

/** Returns how many pages the log has, and how many of them the file has too. */
function checkpoint(mode: 'passive' | 'truncate'): { log: number; checkpointed: number } {
  const [result] = db.pragma(`wal_checkpoint(${mode})`) as [{ log: number; checkpointed: number }];
  return result;
}
