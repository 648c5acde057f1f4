import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { SpendWindow } from '../../../src/core/records/spending-rule.js';
import {
  emptyWindow,
  grant as grantAt,
  openAt as openWith,
  release,
  reserve as reserveAt,
  spend,
  usedAt as usedWith,
  type WindowLimit,
  withoutFuture,
} from '../../../src/core/rules/spend-window.js';
import { runs } from '../../support/runs.js';

/* The network is up to date with the clocks, but where a test says otherwise. */
const at = (nowMs: number) => ({ nowMs, blockMs: nowMs });
const usedAt = (window: SpendWindow, nowMs: number) => usedWith(window, at(nowMs));
const openAt = (window: SpendWindow, nowMs: number) => openWith(window, at(nowMs));
const reserve = (window: SpendWindow, limit: WindowLimit, amount: bigint, nowMs: number) => reserveAt(window, limit, amount, at(nowMs));
const grant = (window: SpendWindow, limit: WindowLimit, granted: { readonly amount: bigint; readonly untilMs: number }, nowMs: number) =>
  grantAt(window, limit, granted, at(nowMs));

/**
 * What happens to a window: time passes, an amount is wanted, a transaction ends, or something is signed. `paidAt`: when it was paid, from
 * its acceptance (0) to its end (1). `ahead`: its deadline, from now (0) to a window later (1).
 */
type Step =
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'reserve'; readonly amount: bigint }
  | { readonly kind: 'grant'; readonly amount: bigint; readonly ahead: number; readonly paidAt: number }
  | { readonly kind: 'end'; readonly nth: number; readonly isSpent: boolean; readonly paidAt: number };

const steps = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 40_000 }) }),
    fc.record({ kind: fc.constant('reserve' as const), amount: fc.bigInt({ min: 0n, max: 2n ** 70n }) }),
    fc.record({
      kind: fc.constant('grant' as const),
      amount: fc.bigInt({ min: 0n, max: 2n ** 70n }),
      ahead: fc.double({ min: 0, max: 1, noNaN: true }),
      paidAt: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
    fc.record({
      kind: fc.constant('end' as const),
      nth: fc.nat(20),
      isSpent: fc.boolean(),
      paidAt: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  ) satisfies fc.Arbitrary<Step>,
  { maxLength: 80 },
);

interface Accepted {
  readonly atMs: number;
  readonly amount: bigint;
  end: { readonly atMs: number; readonly paidAtMs: number | null } | null;
}

describe('the window of a limit', () => {
  it('the chain never pays more than the limit in any time of its length, however long transactions wait', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 1n, max: 2n ** 71n }),
        fc.integer({ min: 1, max: 200_000 }),
        fc.integer({ min: 0, max: 10 ** 12 }),
        steps,
        (amount, windowMs, startMs, all) => {
          const limit: WindowLimit = { amount, windowMs };
          const bucketMs = Math.ceil(windowMs / 60);
          const accepted: Accepted[] = [];
          let window = emptyWindow(windowMs);
          let nowMs = startMs;
          const open = () => accepted.filter(({ end }) => end === null);
          const sum = (some: readonly Accepted[]) => some.reduce((total, one) => total + one.amount, 0n);
          const spentSince = (fromMs: number) =>
            sum(accepted.filter(({ end }) => end !== null && end.paidAtMs !== null && end.atMs > fromMs));
          for (const step of all) {
            if (step.kind === 'wait') nowMs += step.ms;
            else if (step.kind === 'end') {
              const one = open()[step.nth];
              if (one === undefined) continue;
              const paidAtMs = step.isSpent ? one.atMs + Math.floor((nowMs - one.atMs) * step.paidAt) : null;
              one.end = { atMs: nowMs, paidAtMs };
              window = step.isSpent ? spend(window, one.amount, nowMs) : release(window, one.amount);
            } else {
              const least = sum(open()) + spentSince(nowMs - windowMs);
              const most = sum(open()) + spentSince(nowMs - windowMs - bucketMs);
              const used = usedAt(window, nowMs);
              assert.ok(least <= used && used <= most, `${least} <= ${used} <= ${most}`);
              const untilMs = step.kind === 'grant' ? nowMs + Math.floor(windowMs * step.ahead) : nowMs;
              const added = (atMs: number) =>
                step.kind === 'grant'
                  ? grant(window, limit, { amount: step.amount, untilMs: Math.max(untilMs, atMs) }, atMs)
                  : reserve(window, limit, step.amount, atMs);
              const found = added(nowMs);
              assert.equal(found.window !== null, used + step.amount <= amount);
              if (found.window !== null) {
                ({ window } = found);
                const paidAtMs = step.kind === 'grant' ? nowMs + Math.floor((untilMs - nowMs) * step.paidAt) : null;
                accepted.push({ atMs: nowMs, amount: step.amount, end: paidAtMs === null ? null : { atMs: untilMs, paidAtMs } });
              } else {
                assert.equal(found.left, amount - used);
                assert.equal(found.roomAtMs === null, step.amount > amount);
                if (found.roomAtMs === null) continue;
                assert.ok(found.roomAtMs > nowMs);
                if (window.open + step.amount > amount) continue;
                assert.notEqual(added(found.roomAtMs).window, null, 'there is room then');
                assert.equal(added(found.roomAtMs - 1).window, null, 'and not before');
              }
            }
            assert.ok(window.spent.length + (window.granted?.length ?? 0) <= 186, 'a window stays small');
          }
          const paid = accepted.flatMap((one) => (one.end?.paidAtMs == null ? [] : [{ atMs: one.end.paidAtMs, amount: one.amount }]));
          for (const { atMs: toMs } of paid) {
            const inWindow = paid.reduce((total, one) => (one.atMs > toMs - windowMs && one.atMs <= toMs ? total + one.amount : total), 0n);
            assert.ok(inWindow <= amount, `${inWindow} of ${amount} were paid in ${windowMs} ms`);
          }
        },
      ),
      { numRuns: runs(1_000) },
    );
  });

  it('what was signed is open until its deadline, and then counts as spent', () => {
    const limit = { amount: 10n, windowMs: 60_000 };
    const window = grant(emptyWindow(60_000), limit, { amount: 7n, untilMs: 30_500 }, 0).window ?? assert.fail();
    assert.deepEqual(window.granted, [{ index: 30, amount: 7n }]);
    assert.deepEqual(
      [0, 30_999, 31_000].map((nowMs) => openAt(window, nowMs)),
      [7n, 7n, 0n],
    );
    assert.deepEqual(
      [0, 31_000, 90_999, 91_000].map((nowMs) => usedAt(window, nowMs)),
      [7n, 7n, 7n, 0n],
    );
    assert.deepEqual(reserve(window, limit, 4n, 0), { window: null, left: 3n, roomAtMs: 91_000 });
    const both = grant(window, limit, { amount: 3n, untilMs: 30_001 }, 0).window ?? assert.fail();
    assert.deepEqual(both.granted, [{ index: 30, amount: 10n }], 'two signatures');
    const spent = spend(reserve(window, limit, 3n, 0).window ?? assert.fail(), 3n, 1_000);
    assert.equal(usedAt(spent, 31_000), 10n, 'a transaction that ends changes nothing of it');
    assert.equal(usedAt(withoutFuture(spent, 500), 31_000), 10n, 'nor does a clock');
  });

  it('what was signed leaves by the time of blocks: while the network stands still, it can be used later', () => {
    const limit = { amount: 10n, windowMs: 60_000 };
    const window = grant(emptyWindow(60_000), limit, { amount: 7n, untilMs: 30_500 }, 0).window ?? assert.fail();
    for (const blockMs of [null, 0, 30_999]) {
      const times = { nowMs: 1_000_000, blockMs };
      assert.deepEqual([openWith(window, times), usedWith(window, times)], [7n, 7n], String(blockMs));
      const refused = reserveAt(window, limit, 4n, times);
      assert.ok(refused.window === null && (refused.roomAtMs ?? 0) > 1_000_000, String(blockMs));
    }
    const after = { nowMs: 1_000_000, blockMs: 31_000 };
    assert.deepEqual([openWith(window, after), usedWith(window, after)], [0n, 7n]);
    assert.equal(usedWith(window, { nowMs: 1_000_000, blockMs: 91_000 }), 0n);
    assert.equal(usedWith(window, { nowMs: 90_999, blockMs: 1_000_000 }), 7n, 'nor earlier than by the clocks');
  });

  it('a clock that was set back forgets nothing, whichever of its times was right', () => {
    const limit = { amount: 10n, windowMs: 60_000 };
    const first = spend(reserve(emptyWindow(60_000), limit, 6n, 1_000_000).window ?? assert.fail(), 6n, 1_000_000);
    const second = spend(reserve(first, limit, 4n, 400_000).window ?? assert.fail(), 4n, 400_000);
    assert.deepEqual(second, { windowMs: 60_000, open: 0n, spent: [{ index: 400, amount: 10n, aheadIndex: 1_000 }] });
    for (const nowMs of [400_000, 460_999, 1_000_000, 1_060_999]) assert.equal(usedAt(second, nowMs), 10n, String(nowMs));
    for (const nowMs of [461_000, 999_999, 1_061_000]) assert.equal(usedAt(second, nowMs), 0n, String(nowMs));
    assert.equal(reserve(second, limit, 1n, 400_000).window, null);
  });

  it('what a clock that was ahead has dated counts as spent when the clock is right again, neither longer nor shorter', () => {
    const times = { windowMs: fc.integer({ min: 1, max: 200_000 }), aheadMs: fc.integer({ min: 0, max: 10 ** 11 }) };
    fc.assert(
      fc.property(
        fc.record({ ...times, startMs: fc.integer({ min: 0, max: 10 ** 12 }), later: fc.double({ min: 0, max: 1.1 }) }),
        (one) => {
          const { windowMs, aheadMs, startMs, later } = one;
          const bucketMs = Math.ceil(windowMs / 60);
          const limit = { amount: 10n, windowMs };
          const ahead = spend(
            reserve(emptyWindow(windowMs), limit, 10n, startMs + aheadMs).window ?? assert.fail(),
            10n,
            startMs + aheadMs,
          );
          const right = withoutFuture(ahead, startMs);
          assert.equal(usedAt(right, startMs), 10n);
          assert.equal(withoutFuture(right, startMs), right);
          const nowMs = startMs + Math.floor(windowMs * later);
          if (nowMs - startMs < windowMs) assert.equal(usedAt(right, nowMs), 10n, 'it counts for the length of the window');
          // Clocks of instances may differ by a bucket. A time that is so near may have been right: then it counts.
          const nearMs = aheadMs <= windowMs + 4 * bucketMs ? aheadMs : 0;
          assert.equal(usedAt(right, startMs + nearMs + windowMs + 3 * bucketMs), 0n, 'and not for longer');
        },
      ),
      { numRuns: runs(1_000) },
    );
  });

  it('what transactions have reserved that wait never leaves, and the time to look again is near', () => {
    const limit = { amount: 10n, windowMs: 60_000 };
    const window = reserve(emptyWindow(60_000), limit, 10n, 0).window ?? assert.fail();
    const muchLater = 10 * 60_000;
    assert.deepEqual(reserve(window, limit, 1n, muchLater), { window: null, left: 0n, roomAtMs: muchLater + 1_000 });
    assert.deepEqual(release(window, 10n), emptyWindow(60_000));
    assert.deepEqual(release(window, 11n), emptyWindow(60_000), 'never below nothing');
  });
});
