import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isEscalationDue, isNotIncreasedReason, meetsMarket, notIncreasedReason, type Waiting } from '../../../src/core/fees/escalation.js';

const speed = fc.constantFrom('fastest', 'fast', 'average', 'safeLow' as const);
const waiting: fc.Arbitrary<Waiting> = fc.record({
  speed,
  versions: fc.integer({ min: 1, max: 200 }),
  waitedMs: fc.nat({ max: 10_000_000 }),
  waitedHeads: fc.nat({ max: 300 }),
});

describe('fee bump schedule', () => {
  it('a fee bump is due after the heads or the time of its speed, whichever comes first', () => {
    const cases = [
      ['fastest', 2, 30_000],
      ['fast', 3, 60_000],
      ['average', 6, 120_000],
      ['safeLow', 12, 300_000],
    ] as const;
    for (const [speed, heads, ms] of cases) {
      assert.equal(isEscalationDue({ speed, versions: 1, waitedMs: heads * 1_000, waitedHeads: heads }), true);
      assert.equal(isEscalationDue({ speed, versions: 1, waitedMs: ms - 1, waitedHeads: heads - 1 }), false);
      assert.equal(isEscalationDue({ speed, versions: 1, waitedMs: ms, waitedHeads: 1 }), true);
    }
  });

  it('a fee bump is not due after three heads of a quarter of a second', () => {
    assert.equal(isEscalationDue({ speed: 'fast', versions: 1, waitedMs: 750, waitedHeads: 3 }), false);
    assert.equal(isEscalationDue({ speed: 'fast', versions: 1, waitedMs: 3_000, waitedHeads: 12 }), true);
  });

  it('a fee bump is never due without a new block', () => {
    fc.assert(fc.property(waiting, (one) => !isEscalationDue({ ...one, waitedHeads: 0 })));
  });

  it('a fee bump stays due as time and heads pass', () => {
    fc.assert(
      fc.property(waiting, fc.nat({ max: 10_000_000 }), fc.nat({ max: 100 }), (one, ms, heads) => {
        if (isEscalationDue(one)) assert.ok(isEscalationDue({ ...one, waitedMs: one.waitedMs + ms, waitedHeads: one.waitedHeads + heads }));
      }),
    );
  });

  it('a fee bump is due sooner at a faster speed and later with every attempt', () => {
    fc.assert(
      fc.property(waiting, (one) => {
        const due = (['safeLow', 'average', 'fast', 'fastest'] as const).map((speed) => isEscalationDue({ ...one, speed }));
        assert.deepEqual(
          due,
          due.toSorted((a, b) => Number(a) - Number(b)),
        );
        if (isEscalationDue({ ...one, versions: one.versions + 1 })) assert.ok(isEscalationDue(one));
      }),
    );
  });

  it('the patience doubles with every attempt, up to sixteen times', () => {
    const due = (versions: number, waitedHeads: number) =>
      isEscalationDue({ speed: 'fast', versions, waitedMs: waitedHeads * 1_000, waitedHeads });
    for (const [versions, heads] of [
      [1, 3],
      [2, 6],
      [3, 12],
      [4, 24],
      [5, 48],
      [6, 48],
      [100, 48],
      [5000, 48],
    ] as const) {
      assert.equal(due(versions, heads), true);
      assert.equal(due(versions, heads - 1), false);
      assert.equal(isEscalationDue({ speed: 'fast', versions, waitedMs: heads * 1_000, waitedHeads: heads - 1 }), false);
      assert.equal(isEscalationDue({ speed: 'fast', versions, waitedMs: heads * 1_000 - 1, waitedHeads: heads }), false);
    }
    fc.assert(fc.property(waiting, (one) => isEscalationDue({ ...one, waitedMs: 300_000 * 16, waitedHeads: 1 })));
  });
});

describe('reasons why a fee is not increased', () => {
  it('reason: is said to be one, once, and is known again', () => {
    assert.deepEqual(meetsMarket, {
      refused: 'bump_limit',
      sentence: 'waiting: no block includes it yet, although its bid meets the market price; if this lasts, check the RPC nodes',
      lasting: false,
    });
    assert.equal(notIncreasedReason('too dear'), 'fee not increased: too dear');
    for (const kept of ['fee not increased: too dear', 'waiting: for a block']) assert.equal(notIncreasedReason(kept), kept);
    assert.deepEqual(
      [meetsMarket.sentence, 'fee not increased: too dear', 'waiting: for a block', 'not fee not increased: ', null].map(
        isNotIncreasedReason,
      ),
      [true, true, false, false, false],
    );
  });
});
