import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ChangedTransaction } from '../../../src/core/ports/store/feed.js';
import type { TransactionView } from '../../../src/core/records/transaction.js';
import { createFeed } from '../../../src/core/transaction/feed.js';
import { deferred } from '../../support/deferred.js';
import { aTransaction } from '../../support/stored-samples.js';

const relayerTopic = { relayerId: 'relayer-1', transactionId: null };
const view = (id: string, relayerId = 'relayer-1'): TransactionView => ({ transaction: aTransaction({ id, relayerId }), shown: null });
const changed = (id: string, position: number): ChangedTransaction => ({ view: view(id), place: 1, position });
/** Longer than any test; a wait that ends by it has failed. */
const longMs = 60_000;

describe('the feed', () => {
  it('feed: wakes the readers of the transaction and of its relayer, and no others', async () => {
    const feed = createFeed();
    const none = async () => [];
    const all = feed.subscribe(relayerTopic, none);
    const one = feed.subscribe({ relayerId: 'relayer-1', transactionId: 'a' }, none);
    const other = feed.subscribe({ relayerId: 'relayer-1', transactionId: 'b' }, none);
    const elsewhere = feed.subscribe({ relayerId: 'relayer-2', transactionId: null }, none);
    const readers = [all, one, other, elsewhere];
    for (const reader of readers) await reader.next(0);
    const waits = readers.map((reader) => reader.wait(longMs));
    feed.publish(view('a'));
    assert.deepEqual(await Promise.all(waits.slice(0, 2)), ['woken', 'woken']);
    for (const reader of readers) reader.close();
    assert.deepEqual(await Promise.all(waits.slice(2)), ['closed', 'closed']);
  });

  it('feed: a change that is published while a reader reads ends its next wait at once', async () => {
    const feed = createFeed();
    const loading = deferred();
    const reader = feed.subscribe(relayerTopic, () => loading.promise.then(() => []));
    const page = reader.next(0);
    feed.publish(view('a'));
    loading.resolve();
    assert.deepEqual(await page, []);
    assert.equal(await reader.wait(longMs), 'woken');
    reader.close();
  });

  it('feed: readers at the same position share one read and get the same objects until something changes', async () => {
    const feed = createFeed();
    let reads = 0;
    const load = async (after: number) => {
      reads += 1;
      return [changed('a', after + 1)];
    };
    const readers = Array.from({ length: 10 }, () => feed.subscribe(relayerTopic, load));
    const pages = await Promise.all(readers.map((reader) => reader.next(4)));
    assert.equal(reads, 1);
    assert.equal(new Set(pages.map(([first]) => first)).size, 1);
    feed.publish(view('a'));
    const later = await Promise.all(readers.map((reader) => reader.next(4)));
    assert.equal(reads, 2);
    assert.notEqual(later[0]?.[0], pages[0]?.[0]);
    for (const reader of readers) reader.close();
  });

  it('feed: a failed read is tried again by the next reader', async () => {
    const feed = createFeed();
    let reads = 0;
    const reader = feed.subscribe(relayerTopic, async () => {
      reads += 1;
      if (reads === 1) throw new Error('the store is away');
      return [];
    });
    await assert.rejects(reader.next(0), { message: 'the store is away' });
    assert.deepEqual(await reader.next(0), []);
    reader.close();
  });

  it('feed: a reader that nothing wakes reads again after the time limit', async () => {
    const feed = createFeed();
    const pages = [[], [changed('a', 1)]];
    const reader = feed.subscribe(relayerTopic, async () => pages.shift() ?? []);
    assert.deepEqual(await reader.next(0), []);
    assert.equal(await reader.wait(1), 'timeout');
    assert.equal((await reader.next(0)).length, 1);
    reader.close();
    assert.equal(await reader.wait(longMs), 'closed');
  });
});
