import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import type { Interceptor } from '@connectrpc/connect';
import { createTurns } from '../../../src/api/contract/turns.js';

type Next = ReturnType<Interceptor>;

/** Calls that take 5 ms each, by a clock that only they move. */
function busyCalls() {
  let nowMs = 0;
  const order: (number | 'others')[] = [];
  const work = createTurns(() => nowMs)((async (request: unknown) => {
    // As in a service, where the steps of calls that begin together would alternate.
    for (let step = 0; step < 3; step += 1) await null;
    nowMs += 5;
    order.push(request as number);
    return request;
  }) as unknown as Next) as unknown as (call: number) => Promise<number>;
  return { order, work };
}

test('turns: of many calls that arrive together, those beyond 10 ms wait, in order, until others had their turn', async () => {
  const { order, work } = busyCalls();
  let isServed = false;
  const others = (async () => {
    while (!isServed) {
      await nextIteration();
      order.push('others');
    }
  })();
  const calls = Array.from({ length: 11 }, (_, call) => work(call));
  assert.deepEqual(await Promise.all(calls), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  isServed = true;
  await others;
  const turns = order.join(' ').split(/(?: ?others)+ ?/);
  assert.deepEqual(
    turns.filter((turn) => turn !== ''),
    ['0', '1 2', '3 4', '5 6', '7 8', '9 10'],
  );
});

test('turns: a call that arrives while others wait does not overtake them', async () => {
  const { order, work } = busyCalls();
  const calls = Array.from({ length: 6 }, (_, call) => work(call));
  await nextIteration();
  calls.push(work(6));
  await Promise.all(calls);
  assert.deepEqual(order, [0, 1, 2, 3, 4, 5, 6]);
});

test('turns: a call that arrives on another connection does not overtake one that waits', async () => {
  const { order, work } = busyCalls();
  const calls = [work(0), work(1)];
  // No microtask is left: the next read of a connection would come now.
  await new Promise((resolve) => process.nextTick(() => process.nextTick(resolve)));
  calls.push(work(2));
  await Promise.all(calls);
  assert.deepEqual(order, [0, 1, 2]);
});

test('turns: a call that fails in its turn rejects', async () => {
  const work = createTurns()((() => Promise.reject(new Error('refused'))) as unknown as Next);
  await assert.rejects(async () => work({} as Parameters<Next>[0]), /refused/);
});
