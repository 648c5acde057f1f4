import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, it } from 'node:test';
import { type Repeating, type RepeatOptions, repeat } from '../../../src/core/work/repeat.js';
import { deferred } from '../../support/deferred.js';
import { createVirtualTime } from '../../support/virtual-time.js';

interface Started {
  readonly repeating: Repeating;
  readonly errors: unknown[];
  /** When each run began. */
  readonly runsAtMs: number[];
  pass(ms: number): Promise<void>;
}

/** Starts a task that repeats by virtual time. */
function start(
  everyMs: number | (() => number),
  options: Partial<RepeatOptions> = {},
  task: (signal: AbortSignal, run: number) => Promise<void> = async () => undefined,
): Started {
  const { clock, timers, pass } = createVirtualTime();
  const errors: unknown[] = [];
  const runsAtMs: number[] = [];
  const counted = (signal: AbortSignal) => {
    runsAtMs.push(clock.elapsedMs());
    return task(signal, runsAtMs.length);
  };
  const repeating = repeat(counted, everyMs, { onError: (error) => errors.push(error), timers, ...options });
  return { repeating, errors, runsAtMs, pass };
}

async function failing(): Promise<void> {
  throw new Error('no disk');
}

describe('repeat', () => {
  it('repeat: runs the task at once and again after each interval', async () => {
    const { repeating, runsAtMs, pass } = start(1_000);
    await pass(2_500);
    await repeating.stop();
    await pass(5_000);
    assert.deepEqual(runsAtMs, [0, 1_000, 2_000]);
  });

  it('repeat: waits one interval before the first run if asked to', async () => {
    const { repeating, runsAtMs, pass } = start(1_000, { runsAtOnce: false });
    await pass(1_500);
    await repeating.stop();
    assert.deepEqual(runsAtMs, [1_000]);
  });

  it('repeat: never runs if it is stopped before the first run', async () => {
    const { repeating, runsAtMs, pass } = start(1_000, { runsAtOnce: false });
    await repeating.stop();
    await pass(5_000);
    assert.deepEqual(runsAtMs, []);
  });

  it('repeat: reports a failed run and runs again', async () => {
    const { repeating, errors, runsAtMs, pass } = start(1_000, {}, async (_, run) => {
      if (run === 1) throw new Error('no disk');
    });
    await pass(1_500);
    await repeating.stop();
    assert.deepEqual(runsAtMs, [0, 1_000]);
    assert.deepEqual(errors.map(String), ['Error: no disk']);
  });

  it('repeat: stop aborts the signal of the running task and waits for its end', async () => {
    const end = deferred();
    let seen: AbortSignal | undefined;
    const { repeating, pass } = start(1_000, {}, (signal) => {
      seen = signal;
      return end.promise;
    });
    let isStopped = false;
    const stopping = repeating.stop().then(() => {
      isStopped = true;
    });
    await pass(0);
    assert.deepEqual([seen?.aborted, isStopped], [true, false]);
    end.resolve();
    await stopping;
  });

  it('repeat: wake ends the interval; the next one is measured from the end of that run', async () => {
    const { repeating, runsAtMs, pass } = start(1_000);
    await pass(300);
    repeating.wake();
    await pass(1_100);
    await repeating.stop();
    assert.deepEqual(runsAtMs, [0, 300, 1_300]);
  });

  it('repeat: wakes during a run cause one more, never two at the same time', async () => {
    const first = deferred();
    let running = 0;
    const { repeating, runsAtMs, pass } = start(1_000, {}, async (_, run) => {
      running += 1;
      assert.equal(running, 1);
      if (run === 1) await first.promise;
      running -= 1;
    });
    repeating.wake();
    repeating.wake();
    await pass(10);
    first.resolve();
    await pass(100);
    await repeating.stop();
    assert.deepEqual(runsAtMs, [0, 10]);
  });

  it('repeat: with an infinite interval it runs only when woken', async () => {
    const { repeating, runsAtMs, pass } = start(Number.POSITIVE_INFINITY, { runsAtOnce: false });
    await pass(1e9);
    assert.deepEqual(runsAtMs, []);
    repeating.wake();
    await pass(1e9);
    await repeating.stop();
    assert.deepEqual(runsAtMs, [1e9]);
  });

  it('repeat: asks for the interval after each run', async () => {
    let everyMs = 100;
    const { repeating, runsAtMs, pass } = start(
      () => everyMs,
      {},
      async () => {
        everyMs *= 2;
      },
    );
    await pass(700);
    await repeating.stop();
    assert.deepEqual(runsAtMs, [0, 200, 600]);
  });

  it('repeat: wakes within the gap share one run', async () => {
    const { repeating, runsAtMs, pass } = start(1_000, { gapMs: 50 });
    await pass(10);
    repeating.wake();
    await pass(10);
    repeating.wake();
    await pass(500);
    await repeating.stop();
    assert.deepEqual(runsAtMs, [0, 50]);
  });

  it('repeat: backs off after failures, also if it is woken, and no longer after a success', async () => {
    const { repeating, runsAtMs, pass } = start(10_000, { backoffMs: { first: 100, longest: 300 } }, async (_, run) => {
      if (run !== 5) await failing();
    });
    await pass(50);
    repeating.wake();
    await pass(950);
    assert.deepEqual(runsAtMs, [0, 100, 300, 600, 900]);
    repeating.wake();
    await pass(100);
    await repeating.stop();
    assert.deepEqual(runsAtMs.slice(5), [1_000, 1_100]);
  });

  it('repeat: a run does not belong to the request that started or woke the task', async () => {
    const request = new AsyncLocalStorage<string>();
    const seen: (string | undefined)[] = [];
    const { repeating, pass } = request.run('the start', () => start(1_000, {}, async () => void seen.push(request.getStore())));
    request.run('a wake', () => repeating.wake());
    await pass(1_000);
    await repeating.stop();
    assert.deepEqual(seen, [undefined, undefined, undefined]);
  });
});
