import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { DomainError } from '../../../src/core/errors.js';
import type { Reads } from '../../../src/core/ports/store.js';
import { createFeed, watchTransactions } from '../../../src/core/transaction/feed.js';
import type { TransactionView } from '../../../src/core/transaction/transaction.js';
import { relayers } from '../../support/rest-rig.js';
import { aTransaction } from '../../support/stored-samples.js';

const change = (id: string, revision = 1): TransactionView => ({ transaction: aTransaction({ id, revision }), shown: null });
const isTooSlow = (error: unknown) => error instanceof DomainError && error.kind === 'rate_limited' && error.reason === 'READER_TOO_SLOW';

describe('the feed', () => {
  it('feed: delivers to every reader the changes it wants, in order, from its subscription on', async () => {
    const feed = createFeed();
    feed.publish(change('before'));
    const all = feed.subscribe(() => true);
    const some = feed.subscribe(({ transaction }) => transaction.id === 'b');
    const published = [change('a'), change('b'), change('b', 2)];
    for (const one of published) feed.publish(one);
    assert.deepEqual([await all.next(), await all.next(), await all.next()], published);
    assert.deepEqual([await some.next(), await some.next()], published.slice(1));
  });

  it('feed: wakes a waiting reader', async () => {
    const feed = createFeed();
    const reader = feed.subscribe(() => true);
    const next = reader.next();
    const one = change('a');
    feed.publish(one);
    assert.equal(await next, one);
  });

  it('feed: ends for a reader that closes, after the changes already delivered', async () => {
    const feed = createFeed();
    const waiting = feed.subscribe(() => true);
    const next = waiting.next();
    waiting.close();
    assert.equal(await next, undefined);

    const behind = feed.subscribe(() => true);
    const last = change('a');
    feed.publish(last);
    behind.close();
    feed.publish(change('after'));
    assert.deepEqual([await behind.next(), await behind.next(), await behind.next()], [last, undefined, undefined]);
  });

  it('feed: drops only a reader that is more than a thousand changes behind', async () => {
    const feed = createFeed();
    const slow = feed.subscribe(() => true);
    const quick = feed.subscribe(() => true);
    for (let index = 0; index < 1_000; index += 1) {
      feed.publish(change('a', index));
      assert.equal((await quick.next())?.transaction.revision, index);
    }
    assert.equal((await slow.next())?.transaction.revision, 0);
    feed.publish(change('a', 1_000));
    feed.publish(change('a', 1_001));
    await assert.rejects(slow.next(), isTooSlow);
    await assert.rejects(slow.next(), isTooSlow);
    assert.equal((await quick.next())?.transaction.revision, 1_000);
  });

  it('feed: loses and reorders nothing for readers of any pace within the limit', async () => {
    const paces = fc.array(fc.record({ publish: fc.nat({ max: 40 }), read: fc.nat({ max: 40 }) }), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(paces, async (steps) => {
        const feed = createFeed();
        const reader = feed.subscribe(() => true);
        let published = 0;
        let read = 0;
        for (const step of steps) {
          for (let count = 0; count < step.publish; count += 1) feed.publish(change('a', published++));
          for (let count = 0; count < step.read && read < published; count += 1)
            assert.equal((await reader.next())?.transaction.revision, read++);
        }
        reader.close();
        while (read < published) assert.equal((await reader.next())?.transaction.revision, read++);
        assert.equal(await reader.next(), undefined);
      }),
    );
  });
});

it('watch: ends at once if its signal aborted before it began', async () => {
  const relayer = relayers.get('evm') ?? assert.fail('there is none');
  const view = { transaction: aTransaction({ id: 'a', relayerId: relayer.id, status: 'pending' }), shown: null };
  const read = { transaction: async () => view } as Partial<Reads> as Reads;
  const views = watchTransactions({ read, feed: createFeed() }, relayer, 'a', AbortSignal.abort());
  assert.deepEqual(await views.next(), { done: false, value: view });
  assert.deepEqual(await views.next(), { done: true, value: undefined });
});
