import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { ChangedTransaction } from '../../../src/core/ports/store/feed.js';
import type { TransactionView } from '../../../src/core/records/transaction.js';
import { createFeed } from '../../../src/core/transaction/feed.js';
import { deferred } from '../../support/deferred.js';
import { aTransaction } from '../../support/stored-samples.js';

const relayerTopic = { relayerId: 'relayer-1', transactionId: null, reads: 'records' } as const;
const topicOf = (transactionId: string) => ({ relayerId: 'relayer-1', transactionId, reads: 'statuses' }) as const;
const view = (id: string, relayerId = 'relayer-1'): TransactionView => ({ transaction: aTransaction({ id, relayerId }), shown: null });
const changed = (id: string, position: number): ChangedTransaction => ({ view: view(id), place: 1, position });
/** For tests in which no other instance changes anything. */
const noReads = {
  changePositions: () => Promise.reject(new Error('nothing changed elsewhere')),
  changesOfRelayer: () => Promise.reject(new Error('nothing changed elsewhere')),
};
/** Longer than any test; a wait that ends by it has failed. */
const longMs = 60_000;

describe('the feed', () => {
  it('feed: wakes the readers of the transaction and of its relayer, and no others', async () => {
    const feed = createFeed(noReads);
    const none = async () => [];
    const all = feed.subscribe(relayerTopic, none);
    const one = feed.subscribe(topicOf('a'), none);
    const other = feed.subscribe(topicOf('b'), none);
    const elsewhere = feed.subscribe({ ...relayerTopic, relayerId: 'relayer-2' }, none);
    const readers = [all, one, other, elsewhere];
    for (const reader of readers) await reader.next(0);
    const waits = readers.map((reader) => reader.wait(longMs));
    feed.publish(view('a'));
    assert.deepEqual(await Promise.all(waits.slice(0, 2)), ['woken', 'woken']);
    for (const reader of readers) reader.close();
    assert.deepEqual(await Promise.all(waits.slice(2)), ['closed', 'closed']);
  });

  it('feed: a change that is published while a reader reads ends its next wait at once', async () => {
    const feed = createFeed(noReads);
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
    const feed = createFeed(noReads);
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
    const feed = createFeed(noReads);
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
    const feed = createFeed(noReads);
    const pages = [[], [changed('a', 1)]];
    const reader = feed.subscribe(relayerTopic, async () => pages.shift() ?? []);
    assert.deepEqual(await reader.next(0), []);
    assert.equal(await reader.wait(1), 'timeout');
    assert.equal((await reader.next(0)).length, 1);
    reader.close();
    assert.equal(await reader.wait(longMs), 'closed');
  });

  /** A feed beside another instance, and readers of single transactions that have read. */
  async function besideAnother() {
    const reads: string[] = [];
    let changes: { id: string; position: number }[] = [];
    let isAway = false;
    const feed = createFeed({
      async changePositions() {
        reads.push('last');
        return { last: changes.at(-1)?.position ?? 0, removedThrough: 0 };
      },
      async changesOfRelayer(_, after, limit) {
        reads.push(`after ${after}`);
        if (isAway) throw new Error('the store is away');
        const later = changes.filter(({ position }) => position > after).slice(0, limit);
        return later.map((change) => ({ ...change, revision: 1, status: 'mined' as const }));
      },
    });
    const none = async () => [];
    const woken: string[] = [];
    const follow = (id: string) => {
      const reader = feed.subscribe(topicOf(id), none);
      const read = async (): Promise<void> => {
        await reader.next(0);
        if ((await reader.wait(longMs)) !== 'woken') return;
        woken.push(id);
        await read();
      };
      void reader.next(0).then(read);
      return reader;
    };
    const readers = ['a', 'b', 'c'].map(follow);
    const close = () => {
      for (const reader of readers) reader.close();
    };
    /** Reports changes elsewhere, and returns who was woken. */
    const report = async (...ids: readonly string[]) => {
      changes = [...changes, ...ids.map((id, at) => ({ id, position: (changes.at(-1)?.position ?? 0) + at + 1 }))];
      woken.length = 0;
      feed.changedElsewhere(new Set(['relayer-1']));
      for (let turn = 0; turn < 5; turn++) await setImmediate();
      return [...woken].sort();
    };
    await setImmediate();
    const goAway = (value: boolean) => {
      isAway = value;
    };
    return { feed, reads, report, close, goAway };
  }

  it('feed: changes elsewhere wake only the readers of the transactions that changed, by one read', async () => {
    const { reads, report, close } = await besideAnother();
    assert.deepEqual(await report('a'), ['a', 'b', 'c'], 'nothing is known before the first report');
    assert.deepEqual(await report('b', 'unread'), ['b']);
    assert.deepEqual(await report('unread'), []);
    assert.deepEqual(await report('a', 'c', 'a'), ['a', 'c']);
    assert.deepEqual(reads, ['last', 'after 1', 'after 3', 'after 4']);
    close();
    assert.deepEqual(await report('a'), []);
    assert.equal(reads.length, 4, 'nothing is read without readers');
  });

  it('feed: changes elsewhere wake all readers if they cannot be read, are too many, or the database came back', async () => {
    const { feed, report, close, goAway } = await besideAnother();
    await report('a');
    goAway(true);
    assert.deepEqual(await report('a'), ['a', 'b', 'c']);
    goAway(false);
    assert.deepEqual(await report('a'), ['a', 'b', 'c']);
    assert.deepEqual(await report('a'), ['a']);
    assert.deepEqual(await report(...Array.from({ length: 500 }, () => 'unread')), ['a', 'b', 'c']);
    assert.deepEqual(await report('b'), ['b']);
    feed.changedElsewhere('all');
    await setImmediate();
    assert.deepEqual(await report('b'), ['a', 'b', 'c']);
    close();
  });
});
