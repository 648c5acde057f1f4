import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import { createQueue } from '../../../src/core/work/queue.js';

describe('queue', () => {
  it('serve: serves in the order of coming; false if nobody waits', async () => {
    const queue = createQueue<number>();
    const waits = [queue.join(), queue.join()];
    assert.deepEqual([queue.serve(1), queue.serve(2), queue.serve(3)], [true, true, false]);
    assert.deepEqual(await Promise.all(waits), [1, 2]);
  });

  it('join: a waiter whose signal aborts leaves; one that was served leaves nothing at its signal', async () => {
    const queue = createQueue<number>();
    const leaving = new AbortController();
    const staying = new AbortController();
    const left = queue.join(leaving.signal);
    const served = queue.join(staying.signal);
    leaving.abort(new Error('gone'));
    await assert.rejects(left, /gone/);
    assert.equal(queue.size, 1);
    queue.serve(1);
    assert.equal(await served, 1);
    assert.deepEqual(getEventListeners(staying.signal, 'abort'), []);
    await assert.rejects(queue.join(leaving.signal), /gone/);
    assert.equal(queue.size, 0);
  });
});
