import { PerformanceObserver, performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { sqliteDriver } from '../../src/storage/sqlite/driver.js';

/*
 * A program: writes to a database, and lets an idle process collect the statements until 200 collections are over. Such a collection runs outside of
 * JavaScript, where the finalizers of better-sqlite3 12 abort Node.js 24.19 and later. It needs --max-semi-space-size=1.
 */

const wantedCollections = 200;
const patienceMs = 120_000;

const starts: number[] = [];
new PerformanceObserver((list) => starts.push(...list.getEntries().map(({ startTime }) => startTime))).observe({ entryTypes: ['gc'] });

const db = new (sqliteDriver())(':memory:');
db.exec('create table rows (id integer primary key, text text)');
let collections = 0;
for (let round = 0; collections < wantedCollections; round += 1) {
  if (performance.now() > patienceMs) throw new Error(`only ${collections} idle collections in ${patienceMs} ms`);
  for (let row = 0; row < 20; row += 1) db.prepare('insert into rows (text) values (?)').run(`${round}/${row}`);
  // V8 collects in idle time if its young space is nearly full by then, which depends on what else is in it.
  const filling = Array.from({ length: 100 + (round % 40) * 25 }, (_, index) => new Array(32).fill(index));
  const idleFrom = performance.now();
  starts.length = 0;
  await delay(2);
  // Entries are reported a turn later.
  await delay(1);
  collections += starts.filter((start) => start >= idleFrom).length;
  if (filling.length === 0) throw new Error('the young space was not filled');
}
db.close();
process.stdout.write(`${collections} idle collections\n`);
