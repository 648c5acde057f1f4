import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { limitParallel } from '../../../src/core/work/limit-parallel.js';
import { deferred } from '../../support/deferred.js';

describe('tasks with a limit', () => {
  it('limitParallel: starts tasks in order, at most the given number at once, also after one has failed', async () => {
    const inTurn = limitParallel(2);
    const started: number[] = [];
    const gates = Array.from({ length: 4 }, () => deferred());
    const results = gates.map((gate, index) =>
      inTurn(async () => {
        started.push(index);
        await gate.promise;
        if (index === 0) throw new Error('the first task fails');
        return index;
      }),
    );
    const settled = Promise.allSettled(results);
    await nextTurn();
    assert.deepEqual(started, [0, 1]);
    gates[0]?.resolve();
    await nextTurn();
    assert.deepEqual(started, [0, 1, 2]);
    for (const gate of gates) gate.resolve();
    const outcomes = await settled;
    assert.deepEqual(
      outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : 'failed')),
      ['failed', 1, 2, 3],
    );
    assert.deepEqual(started, [0, 1, 2, 3]);
  });

  it('limitParallel: a new task does not overtake one that waits', async () => {
    const inTurn = limitParallel(1);
    const order: string[] = [];
    const gate = deferred();
    const first = inTurn(() => gate.promise);
    const second = inTurn(async () => void order.push('second'));
    gate.resolve();
    await first;
    await inTurn(async () => void order.push('third'));
    await second;
    assert.deepEqual(order, ['second', 'third']);
  });
});
