import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createExclusively, createOneAtATime } from '../../../src/core/work/one-at-a-time.js';
import { deferred } from '../../support/deferred.js';
import { runs } from '../../support/runs.js';

describe('one at a time', () => {
  it('a key is held until its last task has ended', async () => {
    const oneAtATime = createOneAtATime();
    const first = oneAtATime.run(['a', 'b'], async () => undefined);
    const last = oneAtATime.run(['b'], async () => undefined);
    assert.deepEqual(['a', 'b', 'c'].map(oneAtATime.isBusy), [true, true, false]);
    await Promise.all([first, last]);
    await new Promise(setImmediate);
    assert.deepEqual(['a', 'b'].map(oneAtATime.isBusy), [false, false]);
  });

  it('tasks of one key run in order and never together, and wait for nothing else', async () => {
    const task = fc.record({
      keys: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 3 }),
      fails: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(task, { maxLength: 25 }), fc.scheduler(), async (tasks, scheduler) => {
        const oneAtATime = createOneAtATime();
        const running = new Set<number>();
        const started: number[] = [];
        const results = tasks.map(({ keys, fails }, index) =>
          oneAtATime.run(keys, async () => {
            for (const other of running) assert.ok(!tasks[other]?.keys.some((key) => keys.includes(key)), 'two tasks of one key');
            // Every earlier task with one of these keys has begun earlier.
            for (let earlier = 0; earlier < index; earlier += 1)
              if (tasks[earlier]?.keys.some((key) => keys.includes(key))) assert.ok(started.includes(earlier), 'out of order');
            started.push(index);
            running.add(index);
            await scheduler.schedule(Promise.resolve());
            running.delete(index);
            if (fails) throw new Error(`task ${index}`);
            return index;
          }),
        );
        const all = Promise.allSettled(results);
        await scheduler.waitFor(all);
        for (const [index, outcome] of (await all).entries()) {
          if (tasks[index]?.fails) assert.ok(outcome.status === 'rejected' && (outcome.reason as Error).message === `task ${index}`);
          else assert.deepEqual(outcome, { status: 'fulfilled', value: index });
        }
      }),
      { numRuns: runs(100) },
    );
  });

  it('tasks of different keys run side by side', async () => {
    const oneAtATime = createOneAtATime();
    let release = () => {};
    const first = oneAtATime.run(['a'], () => new Promise<void>((resolve) => (release = resolve)));
    assert.equal(await oneAtATime.run(['b'], async () => 'done'), 'done');
    release();
    await first;
  });
});

it('exclusively: work waits for all earlier work, also if that fails', async () => {
  const exclusively = createExclusively();
  const order: string[] = [];
  const gate = deferred();
  const first = exclusively(async () => {
    await gate.promise;
    order.push('first');
    throw new Error('first fails');
  });
  const second = exclusively(async () => {
    order.push('second');
    return 2;
  });
  await Promise.resolve();
  assert.deepEqual(order, []);
  gate.resolve();
  await assert.rejects(first, /first fails/);
  assert.equal(await second, 2);
  assert.deepEqual(order, ['first', 'second']);
});
