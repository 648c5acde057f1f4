import assert from 'node:assert/strict';
import { type EventEmitter, getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import {
  createPause,
  endsWithin,
  inTime,
  onAbort,
  orAborted,
  pause,
  startDeadline,
  TimeoutError,
  within,
} from '../../../src/core/work/abort.js';
import { createVirtualTime } from '../../support/virtual-time.js';

const never = new Promise<never>(() => undefined);

function listenersOf(signal: AbortSignal): number {
  return getEventListeners(signal as unknown as EventEmitter, 'abort').length;
}

describe('abort', () => {
  it('onAbort: runs the task once when the signal aborts, and at once if it has', () => {
    const controller = new AbortController();
    let runs = 0;
    const count = () => {
      runs += 1;
    };
    onAbort(controller.signal, count);
    assert.equal(runs, 0);
    controller.abort();
    assert.equal(runs, 1);
    onAbort(controller.signal, count);
    assert.equal(runs, 2);
  });

  it('onAbort: a task that was taken back does not run, and the signal does not keep it', () => {
    const controller = new AbortController();
    const leave = onAbort(controller.signal, () => assert.fail('it was taken back'));
    leave();
    assert.equal(listenersOf(controller.signal), 0);
    controller.abort();
  });

  it('orAborted: settles as the work does, and leaves nothing at the signal', async () => {
    const { signal } = new AbortController();
    assert.equal(await orAborted(Promise.resolve(1), signal), 1);
    await assert.rejects(orAborted(Promise.reject(new Error('failed')), signal), /failed/);
    assert.equal(listenersOf(signal), 0);
  });

  it('orAborted: rejects with the reason of the signal while the work hangs, also if the signal has aborted before', async () => {
    const controller = new AbortController();
    const waiting = orAborted(never, controller.signal);
    controller.abort(new Error('stopped'));
    await assert.rejects(waiting, /stopped/);
    await assert.rejects(orAborted(never, controller.signal), /stopped/);
  });

  it('pause: ends early if its signal aborts, and at once if it already has', async () => {
    const stopping = new AbortController();
    const waiting = pause(60_000, stopping.signal);
    stopping.abort();
    await waiting;
    await pause(60_000, stopping.signal);
  });

  it('pause: ends after its time, and leaves nothing at the signal', async () => {
    const { timers, pass } = createVirtualTime();
    const { signal } = new AbortController();
    let isOver = false;
    const waiting = createPause(timers)(1_000, signal).then(() => {
      isOver = true;
    });
    await pass(999);
    assert.deepEqual([isOver, listenersOf(signal)], [false, 1]);
    await pass(1);
    await waiting;
    assert.equal(listenersOf(signal), 0);
  });

  it('startDeadline: aborts after its time with a reason that states the limit, or with the reason of its caller', async () => {
    const { timers, pass } = createVirtualTime();
    const plain = startDeadline(5_000, { timers });
    const own = startDeadline(5_000, { timers, reason: () => new Error('the module hangs') });
    await pass(5_000);
    assert.ok(plain.signal.reason instanceof TimeoutError);
    assert.equal(plain.signal.reason.message, 'no answer within 5 s');
    assert.equal(own.signal.reason.message, 'the module hangs');
  });

  it('startDeadline: aborts with the outer signal and its reason, also if that has aborted before', () => {
    const outer = new AbortController();
    const deadline = startDeadline(5_000, { outer: outer.signal, timers: createVirtualTime().timers });
    outer.abort(new Error('stopped'));
    assert.equal(deadline.signal.reason.message, 'stopped');
    assert.equal(startDeadline(5_000, { outer: outer.signal, timers: createVirtualTime().timers }).signal.reason.message, 'stopped');
  });

  it('startDeadline: a deadline that was cleared never aborts, and leaves nothing at the outer signal', async () => {
    const { timers, pass } = createVirtualTime();
    const outer = new AbortController();
    const deadline = startDeadline(5_000, { outer: outer.signal, timers });
    deadline.clear();
    assert.equal(listenersOf(outer.signal), 0);
    await pass(5_000);
    outer.abort();
    assert.equal(deadline.signal.aborted, false);
  });

  it('within: settles as the task does, and aborts a task that takes too long', async () => {
    const { timers, pass } = createVirtualTime();
    assert.equal(await within(1_000, async () => 'done', { timers }), 'done');
    await assert.rejects(
      within(
        1_000,
        async () => {
          throw new Error('failed');
        },
        { timers },
      ),
      /failed/,
    );
    let given: AbortSignal | undefined;
    const late = assert.rejects(
      within(
        1_000,
        (signal) => {
          given = signal;
          return never;
        },
        { timers },
      ),
      TimeoutError,
    );
    await pass(1_000);
    await late;
    assert.equal(given?.aborted, true);
  });

  it('within: does not start the task if the outer signal has aborted', async () => {
    const outer = AbortSignal.abort(new Error('stopped'));
    await assert.rejects(
      within(1_000, () => assert.fail('it started'), { outer }),
      /stopped/,
    );
  });

  it('inTime: the value in time, the other one if it is late, and the error of the work', async () => {
    const { timers, pass } = createVirtualTime();
    assert.equal(await inTime(Promise.resolve(1), 1_000, null, timers), 1);
    await assert.rejects(inTime(Promise.reject(new Error('failed')), 1_000, null, timers), /failed/);
    const late = inTime(never, 1_000, null, timers);
    await pass(1_000);
    assert.equal(await late, null);
  });

  it('endsWithin: true also for work that fails, false for work that hangs', async () => {
    const { timers, pass } = createVirtualTime();
    assert.equal(await endsWithin(Promise.reject(new Error('failed')), 1_000, timers), true);
    const late = endsWithin(never, 1_000, timers);
    await pass(1_000);
    assert.equal(await late, false);
  });
});
