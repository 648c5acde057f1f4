import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Reads } from '../../../src/core/ports/store.js';
import { createFeed } from '../../../src/core/transaction/feed.js';
import { watchTransactions } from '../../../src/core/transaction/watch-transactions.js';
import { relayers } from '../../support/rest-rig.js';
import { aTransaction } from '../../support/stored-samples.js';

it('a watch whose signal aborted before it began waits for nothing', async () => {
  const relayer = relayers.get('evm') ?? assert.fail('there is none');
  const view = { transaction: aTransaction({ id: 'a', relayerId: relayer.id, status: 'pending' }), shown: null };
  const read = { transaction: async () => view } as Partial<Reads> as Reads;
  const views = watchTransactions({ read, feed: createFeed() }, relayer, 'a', AbortSignal.abort());
  assert.deepEqual(await views.next(), { done: false, value: view });
  assert.deepEqual(await views.next(), { done: true, value: undefined });
});
