import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { SpendWindow } from '../../../src/core/records/spending-rule.js';
import { type Reserved, release, reserve, usedAt, type WindowLimit } from '../../../src/core/rules/spend-window.js';
import { runs } from '../../support/runs.js';

/** What happens to a window: time passes, an amount is wanted, or one of those that were reserved is given back. */
type Step =
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'spend'; readonly amount: bigint }
  | { readonly kind: 'release'; readonly nth: number };

const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 40_000 }) }),
    fc.record({ kind: fc.constant('spend' as const), amount: fc.bigInt({ min: 0n, max: 2n ** 70n }) }),
    fc.record({ kind: fc.constant('release' as const), nth: fc.nat(40) }),
  ) satisfies fc.Arbitrary<Step>,
  { maxLength: 60 },
);

describe('the window of a limit', () => {
  it('never lets more through than the limit in any time as long as the window, and nothing less than a sixtieth longer ago counts', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 1n, max: 2n ** 71n }),
        fc.integer({ min: 1, max: 200_000 }),
        fc.integer({ min: 0, max: 10 ** 12 }),
        steps,
        (amount, windowMs, startMs, all) => {
          const limit: WindowLimit = { amount, windowMs };
          const bucketMs = Math.ceil(windowMs / 60);
          const accepted: { readonly atMs: number; readonly amount: bigint; readonly reserved: Reserved; isReleased: boolean }[] = [];
          let window: SpendWindow = [];
          let nowMs = startMs;
          const sumSince = (fromMs: number) =>
            accepted.reduce((sum, one) => (one.isReleased || one.atMs <= fromMs ? sum : sum + one.amount), 0n);
          for (const step of all) {
            if (step.kind === 'wait') nowMs += step.ms;
            else if (step.kind === 'release') {
              const one = accepted[step.nth];
              if (one === undefined || one.isReleased) continue;
              window = release(window, one.reserved);
              one.isReleased = true;
            } else {
              const inWindow = sumSince(nowMs - windowMs);
              const inWindowAndBucket = sumSince(nowMs - windowMs - bucketMs);
              const used = usedAt(window, limit, nowMs);
              assert.ok(inWindow <= used && used <= inWindowAndBucket, `${inWindow} <= ${used} <= ${inWindowAndBucket}`);
              const found = reserve(window, limit, step.amount, nowMs);
              assert.equal(found.window !== null, used + step.amount <= amount);
              if (found.window !== null) {
                ({ window } = found);
                accepted.push({ atMs: nowMs, amount: step.amount, reserved: found.reserved, isReleased: false });
                assert.ok(sumSince(nowMs - windowMs) <= amount, 'the limit is never passed');
              } else {
                assert.equal(found.left, amount - used);
                assert.equal(found.roomAtMs === null, step.amount > amount);
                if (found.roomAtMs !== null) {
                  assert.equal(reserve(window, limit, step.amount, found.roomAtMs).window !== null, true, 'there is room then');
                  assert.equal(reserve(window, limit, step.amount, found.roomAtMs - 1).window, null, 'and not before');
                }
              }
            }
            assert.ok(window.length <= 62, 'a window stays small');
          }
        },
      ),
      { numRuns: runs(1_000) },
    );
  });

  it('a clock that was set back forgets nothing, and adds to the newest bucket', () => {
    const limit = { amount: 10n, windowMs: 60_000 };
    const first = reserve([], limit, 6n, 1_000_000);
    assert.ok(first.window !== null);
    const second = reserve(first.window, limit, 4n, 400_000);
    assert.deepEqual(second.window, [{ index: 1_000, amount: 10n }]);
    assert.equal(reserve(second.window ?? assert.fail(), limit, 1n, 400_000).window, null);
  });

  it('an amount that was reserved in a bucket is released there, whatever else the bucket has', () => {
    const limit = { amount: 100n, windowMs: 60_000 };
    const window: SpendWindow = [
      { index: 1, amount: 5n },
      { index: 2, amount: 7n },
    ];
    assert.deepEqual(release(window, { bucket: 2, amount: 3n }), [
      { index: 1, amount: 5n },
      { index: 2, amount: 4n },
    ]);
    assert.deepEqual(release(window, { bucket: 1, amount: 5n }), [{ index: 2, amount: 7n }]);
    assert.deepEqual(release(window, { bucket: 9, amount: 5n }), window, 'it has left the window');
    assert.equal(usedAt(window, limit, 3_000), 12n);
  });
});
