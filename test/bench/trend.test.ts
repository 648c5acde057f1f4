import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { trendOf } from '../../bench/trend.js';
import { createRandom } from '../support/seeded-random.js';

const minutes = 50;
const series = (valueAt: (minute: number) => number) => Array.from({ length: minutes }, (_, minute) => valueAt(minute));

describe('the trend of a soak', () => {
  it('of an even rise is the rise itself', () => {
    const { first, last, isRising } = trendOf(series((minute) => 200 + minute));
    assert.deepEqual([first, last, isRising], [200, 249, true]);
  });

  it('of a leak of 12 % under noise of 5 % is found in each of 100 series, and its size is right', () => {
    for (let seed = 1; seed <= 100; seed += 1) {
      const random = createRandom(seed);
      const { first, last, isRising } = trendOf(
        series((minute) => (200 + (24 * minute) / minutes) * (1 + random.between(-50, 50) / 1_000)),
      );
      assert.ok(isRising, `seed ${seed}`);
      assert.ok(last / first > 1.05 && last / first < 1.2, `seed ${seed}: ${first} to ${last}`);
    }
  });

  it('of noise of 5 % grows by 10 % in none of 100 series', () => {
    for (let seed = 1; seed <= 100; seed += 1) {
      const random = createRandom(seed);
      const { first, last, isRising } = trendOf(series(() => 200 * (1 + random.between(-50, 50) / 1_000)));
      assert.ok(!isRising || last < first * 1.1, `seed ${seed}: ${first} to ${last}`);
    }
  });

  it('is not moved by a few values that stand out, at the end either', () => {
    const { first, last, isRising } = trendOf(series((minute) => (minute > 44 ? 900 : 200 + (minute % 3))));
    assert.ok(last < first * 1.1, `${first} to ${last}`);
    assert.ok(!isRising || last < first * 1.1);
  });

  it('of values that are all the same does not rise', () => {
    assert.deepEqual(trendOf(series(() => 7)), { first: 7, last: 7, isRising: false });
  });
});
