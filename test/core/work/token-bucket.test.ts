import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createTokenBuckets, type TokenBuckets } from '../../../src/core/work/token-bucket.js';

/** Buckets, and a clock that the test moves. */
function bucketsAt(perSecond: number, burst: number): { buckets: TokenBuckets; clock: { nowMs: number } } {
  const clock = { nowMs: 1_763_600_000_000 };
  return { clock, buckets: createTokenBuckets(() => ({ perSecond, burst }), { nowMs: () => clock.nowMs }) };
}

const limits = fc.record({ perSecond: fc.integer({ min: 1, max: 5000 }), burst: fc.integer({ min: 1, max: 200 }) });
/** Pauses before each call: many at once, some long. */
const pausesMs = fc.array(
  fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 20_000 })),
  { minLength: 1, maxLength: 400 },
);

describe('token buckets', () => {
  it('token buckets: allow at most the burst plus the refill in any period', () => {
    fc.assert(
      fc.property(limits, pausesMs, ({ perSecond, burst }, pauses) => {
        const { buckets, clock } = bucketsAt(perSecond, burst);
        const allowedAtMs: number[] = [];
        for (const pauseMs of pauses) {
          clock.nowMs += pauseMs;
          if (buckets.take('key').allowed) allowedAtMs.push(clock.nowMs);
        }
        for (const [first, fromMs] of allowedAtMs.entries()) {
          for (const [last, toMs] of allowedAtMs.entries()) {
            if (last >= first) assert.ok(last - first + 1 <= burst + ((toMs - fromMs) * perSecond) / 1000);
          }
        }
      }),
    );
  });

  it('token buckets: reject only an empty bucket, and state when a token is available and when the bucket is full', () => {
    fc.assert(
      fc.property(limits, pausesMs, ({ perSecond, burst }, pauses) => {
        const { buckets, clock } = bucketsAt(perSecond, burst);
        for (const pauseMs of pauses) {
          clock.nowMs += pauseMs;
          const { allowed, remaining, nextAfterMs, fullAfterMs } = buckets.take('key');
          assert.ok(Number.isInteger(remaining) && remaining >= 0 && remaining <= (allowed ? burst - 1 : 0));
          assert.equal(nextAfterMs === 0, remaining > 0);
          assert.ok(fullAfterMs >= nextAfterMs && fullAfterMs <= Math.ceil((burst * 1000) / perSecond));
          if (allowed || nextAfterMs < 2) continue;
          clock.nowMs += nextAfterMs - 1;
          assert.equal(buckets.take('key').allowed, false);
          clock.nowMs += 1;
          assert.equal(buckets.take('key').allowed, true);
        }
        clock.nowMs += buckets.take('key').fullAfterMs;
        for (let left = burst - 1; left >= 0; left--) assert.deepEqual(pick(buckets.take('key')), [true, left]);
        // Without a millisecond passing, no token comes back.
        assert.deepEqual(pick(buckets.take('key')), [false, 0]);
      }),
    );
  });

  it('token buckets: never reject a caller that keeps to the rate', () => {
    fc.assert(
      fc.property(limits, ({ perSecond, burst }) => {
        // Calls that share a millisecond come at once, and a full bucket loses the part of a token that would come back.
        fc.pre(burst > Math.ceil(perSecond / 1000));
        const { buckets, clock } = bucketsAt(perSecond, burst);
        // A call at the first whole millisecond in which its token is back.
        const startMs = clock.nowMs;
        for (let call = 0; call < 1000; call++) {
          clock.nowMs = startMs + Math.ceil((call * 1000) / perSecond);
          assert.ok(buckets.take('key').allowed);
        }
      }),
    );
  });

  it('token buckets: are independent, and only full ones are dropped', () => {
    const calls = fc.array(fc.record({ key: fc.integer({ min: 0, max: 9 }), pauseMs: fc.integer({ min: 0, max: 500 }) }), {
      maxLength: 300,
    });
    fc.assert(
      fc.property(limits, calls, ({ perSecond, burst }, all) => {
        const together = bucketsAt(perSecond, burst);
        const alone = Array.from({ length: 10 }, () => bucketsAt(perSecond, burst));
        for (const { key, pauseMs } of all) {
          together.clock.nowMs += pauseMs;
          for (const { clock } of alone) clock.nowMs += pauseMs;
          assert.deepEqual(together.buckets.take(`key ${key}`), alone[key]?.buckets.take('key'));
        }
      }),
    );
  });

  it('token buckets: only recent keys have one', () => {
    const { buckets, clock } = bucketsAt(10, 20);
    for (let round = 0; round < 20; round++) {
      for (let key = 0; key < 100; key++) buckets.take(`key ${round} ${key}`);
      clock.nowMs += 2000;
      assert.ok(buckets.size <= 200, `${buckets.size} buckets`);
    }
  });

  it('token buckets: lower limits empty a bucket to its new burst, and higher ones fill it further', () => {
    const clock = { nowMs: 1_763_600_000_000 };
    let limits = { perSecond: 10, burst: 20 };
    const buckets = createTokenBuckets(() => limits, { nowMs: () => clock.nowMs });
    assert.deepEqual(pick(buckets.take('key')), [true, 19]);
    limits = { perSecond: 5, burst: 10 };
    assert.deepEqual(pick(buckets.take('key')), [true, 9]);
    limits = { perSecond: 10, burst: 20 };
    clock.nowMs += 500;
    assert.deepEqual(pick(buckets.take('key')), [true, 13]);
  });

  it('token buckets: a clock that is set back changes nothing', () => {
    const { buckets, clock } = bucketsAt(1, 2);
    buckets.take('key');
    clock.nowMs -= 3_600_000;
    assert.deepEqual(pick(buckets.take('key')), [true, 0]);
    assert.deepEqual(pick(buckets.take('key')), [false, 0]);
    clock.nowMs += 1000;
    assert.deepEqual(pick(buckets.take('key')), [true, 0]);
  });
});

function pick({ allowed, remaining }: ReturnType<TokenBuckets['take']>): [boolean, number] {
  return [allowed, remaining];
}
