import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pause } from '../../../src/core/work/abort.js';
import { type RepeatOptions, repeat } from '../../../src/core/work/repeat.js';

/** Starts a repeated task whose pauses the test ends. */
function start(task: (signal: AbortSignal) => Promise<void>, options: Partial<RepeatOptions> = {}) {
  const pauses: number[] = [];
  let elapse: () => void = () => undefined;
  const wait: Pause = (ms, signal) =>
    new Promise((resolve) => {
      pauses.push(ms);
      elapse = resolve;
      if (signal?.aborted) resolve();
      signal?.addEventListener('abort', () => resolve(), { once: true });
    });
  const errors: unknown[] = [];
  const repeating = repeat(task, 1_000, { onError: (error) => errors.push(error), pause: wait, ...options });
  const nextInterval = async () => {
    await new Promise(setImmediate);
    elapse();
    await new Promise(setImmediate);
  };
  return { repeating, pauses, errors, nextInterval };
}

describe('repeat', () => {
  it('repeat: runs the task at once and again after each interval', async () => {
    let runs = 0;
    const { repeating, pauses, nextInterval } = start(async () => {
      runs += 1;
    });
    await nextInterval();
    await nextInterval();
    assert.deepEqual([runs, pauses], [3, [1_000, 1_000, 1_000]]);
    await repeating.stop();
    assert.equal(runs, 3);
  });

  it('repeat: waits one interval before the first run if asked to', async () => {
    let runs = 0;
    const { repeating, nextInterval } = start(
      async () => {
        runs += 1;
      },
      { runsAtOnce: false },
    );
    assert.equal(runs, 0);
    await nextInterval();
    assert.equal(runs, 1);
    await repeating.stop();
  });

  it('repeat: never runs if it is stopped before the first run', async () => {
    let runs = 0;
    const { repeating } = start(
      async () => {
        runs += 1;
      },
      { runsAtOnce: false },
    );
    await repeating.stop();
    assert.equal(runs, 0);
  });

  it('repeat: reports a failed run and runs again', async () => {
    let runs = 0;
    const { repeating, errors, nextInterval } = start(async () => {
      runs += 1;
      if (runs === 1) throw new Error('no disk');
    });
    await nextInterval();
    await nextInterval();
    await repeating.stop();
    assert.equal(runs, 3);
    assert.deepEqual(errors.map(String), ['Error: no disk']);
  });

  it('repeat: stop aborts the signal of the running task and waits for its end', async () => {
    let end: () => void = () => undefined;
    let seen: AbortSignal | undefined;
    let isStopped = false;
    const { repeating } = start((signal) => {
      seen = signal;
      return new Promise((resolve) => {
        end = resolve;
      });
    });
    const stopping = repeating.stop().then(() => {
      isStopped = true;
    });
    await new Promise(setImmediate);
    assert.deepEqual([seen?.aborted, isStopped], [true, false]);
    end();
    await stopping;
  });
});
