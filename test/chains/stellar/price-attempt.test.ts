import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type PriceRequest, priceAttempt } from '../../../src/chains/stellar/price-attempt.js';
import { defaultPolicies } from '../../../src/core/records/relayer.js';

const request: PriceRequest = {
  policies: { ...defaultPolicies.stellar, minBalanceStroops: 0n },
  maxFeeStroops: null,
  resourceFeeStroops: 0n,
  operationCount: 1,
  minStroops: 100n,
  bidPerOperationStroops: 100n,
  isFiller: false,
  takesSlot: true,
};

function priced(changes: Partial<PriceRequest>): bigint | string {
  const price = priceAttempt({ ...request, ...changes });
  return 'refused' in price ? price.sentence : price.feeStroops;
}

const callOf = (resourceFeeStroops: bigint) => ({ resourceFeeStroops });
const policyOf = (maxFeeStroops: bigint) => ({ policies: { ...request.policies, maxFeeStroops } });

describe('the fee limit of a caller who sets no max_fee', () => {
  it('covers the resource fee', () => {
    assert.equal(priced(callOf(999_900n)), 1_000_000n);
    assert.equal(
      priced(callOf(999_901n)),
      'the default max_fee allows a fee of 1000000 stroops; this transaction needs at least 1000001: set max_fee to that or more',
    );
    assert.equal(priced({ ...callOf(999_901n), maxFeeStroops: 1_000_001n }), 1_000_001n);
  });

  it('is not raised by a higher policy, and the sentence names the policy if it allows too little for any max_fee', () => {
    assert.equal(
      priced({ ...callOf(2_000_000n), ...policyOf(5_000_000n) }),
      'the default max_fee allows a fee of 1000000 stroops; this transaction needs at least 2000100: set max_fee to that or more',
    );
    assert.equal(
      priced({ ...callOf(2_000_000n), ...policyOf(1_500_000n) }),
      "the relayer's policy max_fee allows a fee of 1500000 stroops; this transaction needs at least 2000100",
    );
    assert.equal(
      priced({ ...callOf(2_000_000n), ...policyOf(500_000n) }),
      "the relayer's policy max_fee allows a fee of 500000 stroops; this transaction needs at least 2000100",
    );
  });
});

describe('the margin of a resource fee that the attempt declares', () => {
  const declared = (resourceFeeStroops: bigint, changes: Partial<PriceRequest> = {}) => {
    const price = priceAttempt({ ...request, resourceFeeStroops, declaresResourceFee: true, ...changes });
    return 'refused' in price ? price.sentence : [price.resourceFeeStroops, price.feeStroops];
  };

  it('is 15 % above the simulation', () => {
    assert.deepEqual(declared(100_000n), [115_000n, 115_100n]);
    assert.deepEqual(declared(0n), [0n, 100n]);
  });

  it('is at most half of what the limit leaves, and never keeps an attempt from being sent', () => {
    assert.deepEqual(declared(990_000n), [994_950n, 995_050n]);
    assert.deepEqual(declared(999_900n), [999_900n, 1_000_000n]);
    assert.deepEqual(declared(100_000n, { maxFeeStroops: 100_100n }), [100_000n, 100_100n]);
    assert.deepEqual(declared(100_000n, policyOf(110_100n)), [105_000n, 105_100n]);
  });

  it('is none for an envelope of another account', () => {
    assert.equal(priced(callOf(100_000n)), 100_100n);
  });
});
