import assert from 'node:assert/strict';
import { describe, it, mock, type TestContext } from 'node:test';
import { type Condition, createCondition, type Trouble } from '../../../src/chains/rpc/condition.js';
import { rememberingLog } from '../../support/evm.js';

const failing: Trouble = { kind: 'failing', detail: 'host: HTTP 502', retryAfterMs: null };

/** A condition on a clock that stands still until it is moved. */
function start(test: TestContext): {
  condition: Condition;
  messages: () => readonly string[];
  moveOn: (ms: number) => void;
  pauseMs: () => number;
} {
  mock.timers.enable({ apis: ['Date'], now: 1_000_000_000 });
  test.after(() => mock.timers.reset());
  const log = rememberingLog();
  const condition = createCondition('net', 'host', '1', log);
  return {
    condition,
    messages: () => log.lines.map((line) => JSON.parse(line).message),
    moveOn: (ms) => mock.timers.setTime(Date.now() + ms),
    pauseMs: () => condition.restsUntilMs() - Date.now(),
  };
}

describe('how a URL stands', () => {
  it('rests for pauses that double up to a minute, and says so once', (test) => {
    const { condition, messages, moveOn, pauseMs } = start(test);
    const pauses: number[] = [];
    for (let failure = 0; failure < 8; failure += 1) {
      condition.failed(failing, condition.begin());
      pauses.push(pauseMs());
      moveOn(pauseMs());
      assert.ok(condition.isDue() && condition.isResting());
    }
    assert.deepEqual(
      pauses,
      [1, 2, 4, 8, 16, 32, 60, 60].map((seconds) => seconds * 1000),
    );
    assert.deepEqual(messages(), ['an RPC URL cannot be asked']);
  });

  it('counts calls that fail together once', (test) => {
    const { condition, pauseMs } = start(test);
    const calls = Array.from({ length: 50 }, () => condition.begin());
    for (const call of calls) condition.failed(failing, call);
    assert.equal(pauseMs(), 1000);
  });

  it('is ready again when a call that began after the failure is answered, not one from before', (test) => {
    const { condition, messages } = start(test);
    const early = condition.begin();
    condition.failed(failing, condition.begin());
    condition.worked(early);
    assert.ok(condition.isResting());
    condition.worked(condition.begin());
    assert.ok(!condition.isResting());
    assert.deepEqual(messages(), ['an RPC URL cannot be asked', 'an RPC URL can be asked again']);
  });

  it('forgives after a minute of work; what fails again sooner rests longer', (test) => {
    const { condition, moveOn, pauseMs } = start(test);
    const fail = (): number => {
      condition.failed(failing, condition.begin());
      const ms = pauseMs();
      condition.worked(condition.begin());
      return ms;
    };
    assert.deepEqual([fail(), fail(), fail()], [1000, 2000, 4000]);
    moveOn(60_001);
    assert.equal(fail(), 1000);
  });

  it('does what Retry-After asks, up to five minutes', (test) => {
    const { condition, moveOn } = start(test);
    condition.failed({ ...failing, retryAfterMs: 7_000 }, condition.begin());
    moveOn(6_999);
    assert.ok(condition.isBarred() && !condition.isDue());
    moveOn(1);
    assert.ok(!condition.isBarred() && condition.isDue());
    condition.failed({ ...failing, retryAfterMs: 10 ** 9 }, condition.begin());
    moveOn(300_000);
    assert.ok(condition.isDue());
  });

  it('of a URL on another chain is barred, and that is an error', (test) => {
    const { condition, messages, moveOn } = start(test);
    condition.failed({ kind: 'other_chain', answered: '0x5' }, condition.begin());
    assert.ok(condition.isBarred());
    moveOn(60_000);
    condition.failed({ kind: 'other_chain', answered: '0x5' }, condition.begin());
    assert.deepEqual(messages(), ['an RPC URL is on another chain and is not used']);
  });

  it('of a URL that lags changes only when it has caught up, whatever it answers', (test) => {
    const { condition } = start(test);
    condition.failed({ kind: 'lagging', detail: 'late' }, condition.begin());
    condition.worked(condition.begin());
    assert.ok(condition.isResting() && !condition.isBarred());
    condition.caughtUp();
    assert.ok(!condition.isResting());
  });
});
