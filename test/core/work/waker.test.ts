import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createWaker } from '../../../src/core/work/waker.js';
import { createVirtualTime } from '../../support/virtual-time.js';

describe('waker', () => {
  it('wait: ends when woken, after its time, and when closed', async () => {
    const { timers, pass } = createVirtualTime();
    const waker = createWaker(timers);
    const woken = waker.wait(1_000);
    waker.wake();
    assert.equal(await woken, 'woken');
    waker.heed();
    const late = waker.wait(1_000);
    await pass(1_000);
    assert.equal(await late, 'timeout');
    const closed = waker.wait(Number.POSITIVE_INFINITY);
    waker.close();
    assert.equal(await closed, 'closed');
    assert.equal(await waker.wait(Number.POSITIVE_INFINITY), 'closed');
  });

  it('wait: a wake before it is not lost, until the waiter heeds it', async () => {
    const { timers, pass } = createVirtualTime();
    const waker = createWaker(timers);
    waker.wake();
    assert.equal(await waker.wait(1_000), 'woken');
    assert.equal(await waker.wait(1_000), 'woken');
    waker.heed();
    const late = waker.wait(1_000);
    await pass(1_000);
    assert.equal(await late, 'timeout');
  });

  it('wait: leaves no timer when it is woken', async () => {
    let open = 0;
    const waker = createWaker({
      after() {
        open += 1;
        return () => {
          open -= 1;
        };
      },
    });
    const woken = waker.wait(1_000);
    assert.equal(open, 1);
    waker.wake();
    await woken;
    assert.equal(open, 0);
  });
});
