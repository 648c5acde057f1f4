import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { minBumpStroops, minReplacementStroops } from '../../../src/chains/stellar/fee-rules.js';
import type { StellarBid } from '../../../src/core/records/stellar.js';

const bid = (feeStroops: bigint, operationCount: number, resourceFeeStroops = 0n): StellarBid => ({
  feeStroops,
  operationCount,
  resourceFeeStroops,
});

describe('minReplacementStroops', () => {
  it('minReplacementStroops: is ten times the bid per operation, counting one more for a fee-bump envelope', () => {
    assert.equal(minReplacementStroops([bid(100n, 1)], 2), 2_000n);
    assert.equal(minReplacementStroops([bid(2_000n, 2)], 2), 20_000n);
    assert.equal(minReplacementStroops([bid(10_000n, 100)], 2), 2_000n);
  });

  it('minReplacementStroops: ignores the resource fee', () => {
    assert.equal(minReplacementStroops([bid(50_100n, 1, 50_000n)], 2), 2_000n);
  });

  it('minReplacementStroops: is above each earlier bid, and 0 without earlier bids', () => {
    assert.equal(minReplacementStroops([bid(100n, 1), bid(2_000n, 2), bid(50n, 1)], 3), 30_000n);
    assert.equal(minReplacementStroops([], 2), 0n);
  });

  it('minReplacementStroops: is the exact minimum for random bids', () => {
    const amount = fc.bigInt({ min: 1n, max: 2n ** 62n });
    const count = fc.integer({ min: 1, max: 101 });
    fc.assert(
      fc.property(amount, count, count, (old, oldCount, newCount) => {
        const least = minReplacementStroops([bid(old, oldCount)], newCount);
        const replaces = (fee: bigint): boolean => fee * BigInt(oldCount) >= 10n * old * BigInt(newCount);
        return replaces(least) && !replaces(least - 1n);
      }),
    );
  });
});

describe('minBumpStroops', () => {
  it('minBumpStroops: is at least the base fee and the inner bid per operation', () => {
    assert.equal(minBumpStroops(0n, 1, 100n), 200n);
    assert.equal(minBumpStroops(100n, 1, 100n), 200n);
    assert.equal(minBumpStroops(1_000n, 1, 100n), 2_000n);
    assert.equal(minBumpStroops(1_001n, 3, 100n), 1_335n);
  });
});
