import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type CircuitBreaker, createCircuitBreaker, type Failure } from '../../../src/chains/rpc/circuit-breaker.js';
import { rememberingLog } from '../../support/evm.js';

const otherChain: Failure = { kind: 'other_chain', difference: { differs: 'chain ID', expected: '1', answered: '5' } };
const failing: Failure = { kind: 'failing', detail: 'host: HTTP 502', retryAfterMs: null };

/** Creates a breaker on a clock that only `moveOn` advances. */
function start(): {
  breaker: CircuitBreaker;
  messages: () => readonly string[];
  moveOn: (ms: number) => void;
  pauseMs: () => number;
} {
  const log = rememberingLog();
  let nowMs = 1_000_000;
  const breaker = createCircuitBreaker('net', 'host', log, () => nowMs);
  return {
    breaker,
    messages: () => log.lines.map((line) => JSON.parse(line).message),
    moveOn: (ms) => {
      nowMs += ms;
    },
    pauseMs: () => breaker.pausedUntilMs() - nowMs,
  };
}

describe('circuit breaker', () => {
  it('circuit breaker: pauses for twice as long after each failure, up to a minute, and logs once', () => {
    const { breaker, messages, moveOn, pauseMs } = start();
    const pauses: number[] = [];
    for (let failure = 0; failure < 8; failure += 1) {
      breaker.failed(failing, breaker.begin());
      pauses.push(pauseMs());
      moveOn(pauseMs());
      assert.ok(breaker.isProbeDue() && breaker.isTripped());
    }
    assert.deepEqual(
      pauses,
      [1, 2, 4, 8, 16, 32, 60, 60].map((seconds) => seconds * 1000),
    );
    assert.deepEqual(messages(), ['RPC endpoint failed; removed from rotation']);
  });

  it('circuit breaker: counts concurrent failures once', () => {
    const { breaker, pauseMs } = start();
    const calls = Array.from({ length: 50 }, () => breaker.begin());
    for (const call of calls) breaker.failed(failing, call);
    assert.equal(pauseMs(), 1000);
  });

  it('circuit breaker: resets when a call that began after the failure succeeds, but not for an earlier call', () => {
    const { breaker, messages } = start();
    const early = breaker.begin();
    breaker.failed(failing, breaker.begin());
    breaker.worked(early);
    assert.ok(breaker.isTripped());
    breaker.worked(breaker.begin());
    assert.ok(!breaker.isTripped());
    assert.deepEqual(messages(), ['RPC endpoint failed; removed from rotation', 'RPC endpoint recovered; back in rotation']);
  });

  it('circuit breaker: logs an endpoint that fails and works by turns twice, and its recovery after a minute without failure', () => {
    const { breaker, messages, moveOn } = start();
    for (let turn = 0; turn < 30; turn += 1) {
      breaker.failed(failing, breaker.begin());
      moveOn(300);
      breaker.worked(breaker.begin());
    }
    const lines = [
      'RPC endpoint failed; removed from rotation',
      'RPC endpoint recovered; back in rotation',
      'RPC endpoint failed; removed from rotation again; further failures are not logged until it has worked for a minute',
    ];
    assert.deepEqual(messages(), lines);
    moveOn(60_001);
    breaker.worked(breaker.begin());
    assert.deepEqual(messages(), [...lines, 'RPC endpoint recovered; back in rotation']);
  });

  it('circuit breaker: forgets failures after a minute of success; pauses longer if the next failure comes sooner', () => {
    const { breaker, moveOn, pauseMs } = start();
    const fail = (): number => {
      breaker.failed(failing, breaker.begin());
      const ms = pauseMs();
      breaker.worked(breaker.begin());
      return ms;
    };
    assert.deepEqual([fail(), fail(), fail()], [1000, 2000, 4000]);
    moveOn(60_001);
    assert.equal(fail(), 1000);
  });

  it('circuit breaker: follows Retry-After, up to a minute, since the endpoint may be the only one', () => {
    const { breaker, moveOn } = start();
    breaker.failed({ ...failing, retryAfterMs: 7_000 }, breaker.begin());
    moveOn(6_999);
    assert.ok(breaker.isBlocked() && !breaker.isProbeDue());
    moveOn(1);
    assert.ok(!breaker.isBlocked() && breaker.isProbeDue());
    breaker.failed({ ...failing, retryAfterMs: 10 ** 9 }, breaker.begin());
    moveOn(60_000);
    assert.ok(breaker.isProbeDue() && !breaker.isBlocked());
  });

  it('circuit breaker: says why the endpoint is left out, and that it asked for a pause only while that lasts', () => {
    const { breaker, moveOn } = start();
    assert.equal(breaker.trippedBy(), null);
    breaker.failed({ ...failing, retryAfterMs: 7_000 }, breaker.begin());
    assert.equal(breaker.trippedBy(), 'paused');
    moveOn(7_000);
    assert.equal(breaker.trippedBy(), 'failing');
    for (const kind of ['lagging', 'ahead'] as const) {
      breaker.failed({ kind, detail: 'off' }, breaker.begin());
      assert.equal(breaker.trippedBy(), kind);
    }
    breaker.caughtUp();
    assert.equal(breaker.trippedBy(), null);
    breaker.failed(otherChain, breaker.begin());
    assert.equal(breaker.trippedBy(), 'other_chain');
  });

  it('circuit breaker: blocks an endpoint of another chain and logs one error', () => {
    const { breaker, messages, moveOn } = start();
    breaker.failed(otherChain, breaker.begin());
    assert.ok(breaker.isBlocked());
    moveOn(60_000);
    breaker.failed(otherChain, breaker.begin());
    assert.deepEqual(messages(), ['RPC endpoint serves another chain; not used']);
  });

  it('circuit breaker: keeps a lagging endpoint out until it has caught up, even if it answers', () => {
    const { breaker } = start();
    breaker.failed({ kind: 'lagging', detail: 'late' }, breaker.begin());
    breaker.worked(breaker.begin());
    assert.ok(breaker.isTripped() && !breaker.isBlocked());
    breaker.caughtUp();
    assert.ok(!breaker.isTripped());
  });
});
