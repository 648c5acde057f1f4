import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DomainError } from '../../../src/core/errors/errors.js';
import type { Log } from '../../../src/core/work/log.js';
import type { Timers } from '../../../src/core/work/timers.js';
import { createSlowTasks } from '../../../src/engine/lane/detach-slow-task.js';
import { createTaskMaker } from '../../../src/engine/lane/task.js';
import { deferred } from '../../support/deferred.js';

const away = new DomainError('unavailable', 'SIGNER_UNAVAILABLE', 'signer s1 cannot sign now', { metadata: { signer_id: 's1' } });

/** A slow task of a lane whose key is hosted. Nobody waits for it: the time of its callers is up at once. */
function startSlow(works: (() => Promise<void>)[]) {
  let nowMs = 1_000_000;
  let isHosted = true;
  const lines: string[] = [];
  const note = (level: string) => (_: object, message: string) => void lines.push(`${level}: ${message}`);
  const log: Log = { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') };
  const task = createTaskMaker({ log, clock: { elapsedMs: () => nowMs }, relayerId: () => 'r1', returns: () => 0 });
  const timers: Timers = {
    after(_, late) {
      setImmediate(late);
      return () => undefined;
    },
  };
  const slow = createSlowTasks({ task, timers, isHosted: () => isHosted });
  let runs = 0;
  const run = slow.task('sign', async () => {
    runs += 1;
    await works.shift()?.();
  });
  const change = () => {
    isHosted = !isHosted;
  };
  return { run, lines, ended: slow.ended, runs: () => runs, wait: (ms: number) => (nowMs += ms), change };
}

const failsLate = async () => {
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  throw away;
};

describe('a task that waits for a hosted key', () => {
  it('a slow task: succeeds again only when it has ended, not when its caller stops waiting', async () => {
    const signing = deferred();
    const { run, lines, ended, wait, runs } = startSlow([() => Promise.reject(away), () => signing.promise]);
    await run();
    assert.deepEqual(lines, ['warn: lane task "sign" got no signature; retrying']);
    wait(10_000);
    await run();
    await run();
    assert.equal(runs(), 2);
    assert.equal(lines.length, 1);
    signing.resolve();
    await ended();
    assert.deepEqual(lines.slice(1), ['info: lane task "sign" succeeds again']);
  });

  it('a slow task: does not run twice at once if the key is hosted no more, and the lane waits for a local key', async () => {
    const signing = [deferred(), deferred()] as const;
    const { run, ended, runs, change } = startSlow([() => signing[0].promise, () => signing[1].promise]);
    await run();
    change();
    await run();
    assert.equal(runs(), 1, 'the hosted key still signs');
    signing[0].resolve();
    await ended();
    let hasReturned = false;
    const local = run().then(() => {
      hasReturned = true;
    });
    change();
    await run();
    assert.equal(runs(), 2, 'the local key still signs');
    assert.equal(hasReturned, false);
    signing[1].resolve();
    await local;
  });

  it('a slow task: one that fails late is logged once, and waits longer after each failure', async () => {
    const { run, lines, ended, wait, runs } = startSlow([failsLate, failsLate, failsLate]);
    for (let times = 0; times < 3; times += 1) {
      await run();
      await ended();
      await run();
      assert.equal(runs(), times + 1);
      wait(10_000);
    }
    assert.deepEqual(lines, ['warn: lane task "sign" got no signature; retrying']);
  });
});
