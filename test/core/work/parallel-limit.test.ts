import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createParallelLimit } from '../../../src/core/work/parallel-limit.js';
import { deferred } from '../../support/deferred.js';

describe('tasks with a limit', () => {
  it('run: starts tasks in order, at most the given number at once, also after one has failed', async () => {
    const { run } = createParallelLimit(2);
    const started: number[] = [];
    const gates = Array.from({ length: 4 }, () => deferred());
    const results = gates.map((gate, index) =>
      run(async () => {
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

  it('run: a new task does not overtake one that waits', async () => {
    const { run } = createParallelLimit(1);
    const order: string[] = [];
    const gate = deferred();
    const first = run(() => gate.promise);
    const second = run(async () => void order.push('second'));
    gate.resolve();
    await first;
    await run(async () => void order.push('third'));
    await second;
    assert.deepEqual(order, ['second', 'third']);
  });

  it('run: a task whose signal aborts while it waits never starts, and gives its place to the next one', async () => {
    const { run } = createParallelLimit(1);
    const gate = deferred();
    const first = run(() => gate.promise);
    const leaving = new AbortController();
    const left = run(() => assert.fail('it started'), leaving.signal);
    const last = run(async () => 'last');
    leaving.abort(new Error('gone'));
    await assert.rejects(left, /gone/);
    await assert.rejects(
      run(() => assert.fail('it started'), leaving.signal),
      /gone/,
    );
    gate.resolve();
    await first;
    assert.equal(await last, 'last');
  });

  it('run: a signal that aborts does not end a task that runs', async () => {
    const { run } = createParallelLimit(1);
    const gate = deferred();
    const ending = new AbortController();
    const running = run(async () => {
      await gate.promise;
      return 'done';
    }, ending.signal);
    ending.abort();
    gate.resolve();
    assert.equal(await running, 'done');
  });

  it('forgetRunning: others start in the places of tasks that run, whose end then frees nothing', async () => {
    const limit = createParallelLimit(2);
    const gates = Array.from({ length: 4 }, () => deferred());
    const started: number[] = [];
    const tasks = gates.map((gate, index) =>
      limit.run(async () => {
        started.push(index);
        await gate.promise;
      }),
    );
    await nextTurn();
    assert.deepEqual([started, limit.isFull()], [[0, 1], true]);
    limit.forgetRunning();
    await nextTurn();
    assert.deepEqual([started, limit.isFull()], [[0, 1, 2, 3], true]);
    gates[0]?.resolve();
    await tasks[0];
    assert.equal(limit.isFull(), true);
    gates[2]?.resolve();
    await tasks[2];
    assert.equal(limit.isFull(), false);
    for (const gate of gates) gate.resolve();
    await Promise.all(tasks);
  });
});
