import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type PriceRequest, priceAttempt } from '../../../src/chains/stellar/price-attempt.js';

const request: PriceRequest = {
  policies: { network: 'stellar', minBalanceStroops: 0n, maxFeeStroops: null },
  maxFeeStroops: null,
  resourceFeeStroops: 0n,
  isForeign: false,
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

describe('the fee limit of a caller who sets no max_fee', () => {
  it('leaves room for the resource fee of a contract call of the relayer', () => {
    assert.equal(priced({ resourceFeeStroops: 50_000_000n }), 50_000_100n);
  });

  it('does not leave a node free to choose the resource fee', () => {
    assert.equal(
      priced({ resourceFeeStroops: 4_290_000_000n }),
      'the default max_fee allows a fee of 101000000 stroops; this transaction needs at least 4290000100',
    );
    assert.equal(priced({ resourceFeeStroops: 4_290_000_000n, maxFeeStroops: 5_000_000_000n }), 4_290_000_100n);
  });

  it('covers the resource fee that another account chose', () => {
    assert.equal(priced({ isForeign: true, resourceFeeStroops: 900_000n }), 900_100n);
    assert.equal(
      priced({ isForeign: true, resourceFeeStroops: 2_300_000n }),
      'the default max_fee allows a fee of 1000000 stroops; this transaction needs at least 2300100',
    );
  });
});
