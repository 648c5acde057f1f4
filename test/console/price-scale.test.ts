import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { priceScale, spreadLabels } from '../../src/console/model/price-scale.js';

describe('console: the axis of prices', () => {
  it('places every price within the chart, in the order of the prices', () => {
    fc.assert(
      fc.property(fc.array(fc.bigInt(0n, 10n ** 24n), { minLength: 1, maxLength: 40 }), (prices) => {
        const { place, ticks } = priceScale(prices);
        const sorted = [...prices].sort((a, b) => (a < b ? -1 : 1)).map(place);
        assert.ok(sorted.every((at) => at >= 0 && at <= 1));
        assert.ok(sorted.every((at, index) => index === 0 || at >= (sorted[index - 1] ?? 0)));
        assert.ok(ticks.length >= 1 && ticks.length <= 6, `${ticks}`);
        assert.ok(ticks.every((tick) => place(tick) >= 0 && place(tick) <= 1));
      }),
    );
  });

  it('is a factor, not a difference: a tenth stands as far below as ten times stands above', () => {
    const { place } = priceScale([1_000_000_000n, 10_000_000_000n, 100_000_000_000n]);
    const [low, middle, high] = [1_000_000_000n, 10_000_000_000n, 100_000_000_000n].map(place);
    assert.ok(Math.abs((middle ?? 0) - (low ?? 0) - ((high ?? 0) - (middle ?? 0))) < 1e-9);
  });

  it('stays the same axis while prices move a little', () => {
    assert.equal(priceScale([30_100_000_000n, 40_000_000_000n]).name, priceScale([31_000_000_000n, 41_000_000_000n]).name);
    assert.notEqual(priceScale([30_000_000_000n]).name, priceScale([3_000_000_000_000n]).name);
  });

  it('works without prices, and with prices of zero', () => {
    assert.equal(priceScale([]).place(0n), 0);
    assert.equal(priceScale([0n, 0n]).place(0n), 0);
  });
});

describe('console: labels beside the chart', () => {
  it('moves labels apart, keeps them in order and within the chart', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 }), (places) => {
        const spread = spreadLabels(
          places.map((place) => ({ place })),
          0.06,
        );
        const sorted = [...spread].sort((a, b) => a - b);
        assert.equal(spread.length, places.length);
        assert.ok(sorted.every((place, index) => index === 0 || place - (sorted[index - 1] ?? 0) > 0.06 - 1e-9));
        assert.ok(sorted.every((place) => place > -1e-9 && place < 1 + 1e-9));
      }),
    );
  });

  it('leaves labels where they are if there is room', () => {
    assert.deepEqual(spreadLabels([{ place: 0.9 }, { place: 0.1 }], 0.06), [0.9, 0.1]);
  });
});
