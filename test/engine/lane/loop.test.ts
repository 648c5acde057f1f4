import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLoop } from '../../../src/engine/lane/loop.js';
import { deferred } from '../../support/deferred.js';

describe('a loop', () => {
  it('runs one round at a time, and one more for all wakes during a round', async () => {
    let rounds = 0;
    let together = 0;
    const door = deferred();
    const again = deferred();
    const loop = createLoop(
      async () => {
        rounds += 1;
        assert.equal(together, 0);
        together += 1;
        if (rounds === 1) await door.promise;
        else again.resolve();
        together -= 1;
      },
      () => assert.fail(),
    );
    loop.wake();
    loop.wake();
    loop.wake();
    assert.equal(rounds, 1);
    door.resolve();
    await again.promise;
    await loop.stop();
    assert.equal(rounds, 2);
  });

  it('goes on after a round that threw, and says what it threw', async () => {
    const thrown: unknown[] = [];
    let rounds = 0;
    const again = deferred();
    const loop = createLoop(
      async () => {
        rounds += 1;
        if (rounds === 1) throw new Error('the first');
        again.resolve();
      },
      (error) => {
        thrown.push((error as Error).message);
        loop.wake();
      },
    );
    loop.wake();
    await again.promise;
    await loop.stop();
    assert.deepEqual(thrown, ['the first']);
    assert.equal(rounds, 2);
  });

  it('stops: it waits for the round that runs, and starts no other', async () => {
    let rounds = 0;
    const door = deferred();
    const loop = createLoop(
      async () => {
        rounds += 1;
        await door.promise;
      },
      () => assert.fail(),
    );
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

  it('that never ran stops at once', async () => {
    await createLoop(
      () => assert.fail(),
      () => assert.fail(),
    ).stop();
  });
});
