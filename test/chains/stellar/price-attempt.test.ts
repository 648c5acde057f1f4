import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type PriceRequest, priceAttempt } from '../../../src/chains/stellar/price-attempt.js';

const request: PriceRequest = {
  policies: { network: 'stellar', minBalanceStroops: 0n, maxFeeStroops: null, allowAccountChanges: [] },
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
