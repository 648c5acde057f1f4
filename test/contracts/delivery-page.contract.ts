import assert from 'node:assert/strict';
import { performance } from 'node:perf_hooks';
import { after, before, describe, test } from 'node:test';
import type { Store } from '../../src/core/ports/store/store.js';
import { migrateDatabase, openStore } from '../../src/storage/open-store.js';
import { silentLog } from '../support/stored-samples.js';

const lengths = { short: 20_000, long: 200_000 };
const leastReads = 15;
/** As many as it takes on a busy machine; then the longer list does cost more. */
const mostReads = 150;

/** A new database, and raw access to it. */
interface RawDatabase {
  readonly databaseUrl: string;
  run(sql: string): Promise<void>;
}

/** What every database must do with the list of a notification that has very many deliveries. */
export function deliveryPageContract(name: string, newDatabase: () => Promise<RawDatabase>): void {
  describe(`${name}: pages of many deliveries`, () => {
    let store: Store;
    before(async () => {
      const { databaseUrl, run } = await newDatabase();
      await migrateDatabase(databaseUrl, { log: silentLog });
      for (const [notification, length] of Object.entries(lengths)) await run(insertOf(notification, length));
      ({ store } = await openStore(databaseUrl, { log: silentLog }));
    });
    after(() => store.close());

    async function lengthFrom(notification: keyof typeof lengths, offset: number): Promise<object> {
      const { items, ...length } = await store.read.deliveries(notification, { offset, limit: 10 });
      return { items: items.length, ...length };
    }

    async function timeOf(notification: keyof typeof lengths): Promise<number> {
      const began = performance.now();
      await store.read.deliveries(notification, { offset: 100, limit: 100 });
      return performance.now() - began;
    }

    test('counts at most 10000 deliveries from the start of the page, and reports that there are more', async () => {
      assert.deepEqual(await lengthFrom('short', 0), { items: 10, total: 10_000, hasMore: true });
      assert.deepEqual(await lengthFrom('short', 9_999), { items: 10, total: 19_999, hasMore: true });
      assert.deepEqual(await lengthFrom('short', 10_000), { items: 10, total: 20_000 });
      assert.deepEqual(await lengthFrom('short', 19_995), { items: 5, total: 20_000 });
      assert.deepEqual(await lengthFrom('short', 1e9), { items: 0, total: 20_000 });
    });

    test('a page of a list that is ten times as long costs about the same', async (context) => {
      // Other processes only make a read slower, so the fastest of each counts. In turn, so that they slow down both.
      let [short, long] = [await timeOf('short'), await timeOf('long')];
      for (let read = 1; read < leastReads || (read < mostReads && long >= 3 * short); read += 1) {
        short = Math.min(short, await timeOf('short'));
        long = Math.min(long, await timeOf('long'));
      }
      context.diagnostic(`${lengths.short} rows: ${short.toFixed(2)} ms; ${lengths.long} rows: ${long.toFixed(2)} ms`);
      assert.ok(long < 3 * short, `${long} ms instead of ${short} ms`);
    });
  });
}

/** Many rows in one statement of either dialect: commits would take minutes. */
function insertOf(notification: string, length: number): string {
  return `with recursive numbers(i) as (select 1 union all select i + 1 from numbers where i < ${length})
    insert into events (id, notification_id, event, order_key, body, status, attempts, next_attempt_at_ms, created_at_ms, waits_behind)
    select '${notification}-' || i, '${notification}', 'test', '${notification}-' || i, '{}', 'delivered', 1, 1, 1, 0 from numbers`;
}
