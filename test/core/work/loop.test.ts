import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLoop } from '../../../src/core/work/loop.js';
import { deferred } from '../../support/deferred.js';

describe('a loop', () => {
  it('a loop: runs one round at a time, and one more after any wakes during a round', async () => {
    let rounds = 0;
    let together = 0;
    const door = deferred();
    const again = deferred();
    const loop = createLoop(async () => {
      rounds += 1;
      assert.equal(together, 0);
      together += 1;
      if (rounds === 1) await door.promise;
      else again.resolve();
      together -= 1;
    });
    loop.wake();
    loop.wake();
    loop.wake();
    assert.equal(rounds, 1);
    door.resolve();
    await again.promise;
    await loop.stop();
    assert.equal(rounds, 2);
  });

  it('stop: waits for the running round and starts no other', async () => {
    let rounds = 0;
    const door = deferred();
    const loop = createLoop(async () => {
      rounds += 1;
      await door.promise;
    });
    loop.wake();
    loop.wake();
    let isStopped = false;
    const stopped = loop.stop().then(() => {
      isStopped = true;
    });
    await Promise.resolve();
    assert.equal(isStopped, false);
    door.resolve();
    await stopped;
    loop.wake();
    assert.equal(rounds, 1);
  });

  it('stop: resolves at once if no round ever ran', async () => {
    await createLoop(() => assert.fail()).stop();
  });
});
