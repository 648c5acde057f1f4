import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createExclusively } from '../../../src/core/work/exclusively.js';
import { deferred } from '../../support/deferred.js';

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
