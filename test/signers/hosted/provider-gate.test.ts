import assert from 'node:assert/strict';
import { setMaxListeners } from 'node:events';
import { describe, it } from 'node:test';
import { createProviderGate } from '../../../src/signers/hosted/provider-gate.js';
import { createVirtualTime } from '../../support/virtual-time.js';

/** The limit of a provider, which may change. */
interface Quota {
  perSecond: number;
  /** Calls that it does at once after a pause. */
  burst: number;
}

/** A gate of up to 500 calls per second whose provider allows fewer, and a lane that asks for 16 signatures at once, again and again. */
function startLane(quota: Quota) {
  const time = createVirtualTime();
  const gate = createProviderGate({ parallel: 32, perSecond: 500 }, time);
  const { signal } = new AbortController();
  setMaxListeners(0, signal);
  const calls = { done: 0, throttled: 0 };
  let [tokens, atMs] = [quota.burst, 0];

  async function call(): Promise<boolean> {
    const nowMs = time.clock.elapsedMs();
    tokens = Math.min(quota.burst, tokens + ((nowMs - atMs) * quota.perSecond) / 1_000);
    atMs = nowMs;
    const isAllowed = tokens >= 1;
    if (isAllowed) tokens -= 1;
    await new Promise<void>((resolve) => time.timers.after(20, resolve));
    if (isAllowed) gate.worked();
    else gate.throttled(null);
    calls[isAllowed ? 'done' : 'throttled'] += 1;
    return isAllowed;
  }

  async function signature(): Promise<void> {
    while (!(await gate.run(call, signal)));
  }

  void (async () => {
    for (;;) await Promise.all(Array.from({ length: 16 }, signature));
  })();
  return {
    /** Returns the calls that were done and throttled in this time. */
    async pass(seconds: number): Promise<typeof calls> {
      const before = { ...calls };
      await time.pass(seconds * 1_000);
      return { done: calls.done - before.done, throttled: calls.throttled - before.throttled };
    },
  };
}

describe('the gate of a provider that throttles', () => {
  for (const [perSecond, burst, least] of [
    [10, 10, 0.9],
    [60, 60, 0.9],
    // A provider that counts shorter times than seconds.
    [10, 1, 0.75],
  ] as const)
    it(`${perSecond} calls per second, ${burst} at once: at least ${least * 100} % of them are used, and few calls are throttled`, async () => {
      const { done, throttled } = await startLane({ perSecond, burst }).pass(60);
      assert.ok(done >= perSecond * 60 * least, `${done} of ${perSecond * 60} calls`);
      assert.ok(throttled <= done / 5, `${throttled} throttled calls beside ${done}`);
    });

  it('a quota that was raised is used within 30 s', async () => {
    const quota = { perSecond: 10, burst: 10 };
    const lane = startLane(quota);
    await lane.pass(30);
    Object.assign(quota, { perSecond: 400, burst: 400 });
    await lane.pass(30);
    const { done } = await lane.pass(10);
    assert.ok(done > 3_000, `${done} calls in 10 s`);
  });

  it('a provider that only throttles gets a call every few seconds', async () => {
    const lane = startLane({ perSecond: 0, burst: 0 });
    await lane.pass(30);
    const { done, throttled } = await lane.pass(60);
    assert.ok(done === 0 && throttled > 0 && throttled <= 24, `${throttled} calls in a minute`);
  });
});
