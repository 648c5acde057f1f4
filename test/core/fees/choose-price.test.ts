import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { choosePrice, type PriceChoice } from '../../../src/core/fees/choose-price.js';
import { bidOf, loweredTo, maxCostPerGasWei, minimumOutbid, minimumReplacement, raisedTo, reaches } from '../../../src/core/fees/price.js';
import type { EvmPrice } from '../../../src/core/transaction/evm.js';
import { runs } from '../../support/runs.js';

const market: EvmPrice = { kind: 'eip1559', maxFeePerGasWei: 200n, maxPriorityFeePerGasWei: 20n };
const earlier: EvmPrice = { kind: 'eip1559', maxFeePerGasWei: 300n, maxPriorityFeePerGasWei: 30n };

function choose(changes: Partial<PriceChoice>): ReturnType<typeof choosePrice> {
  return choosePrice({ explicit: null, market, baseFeeWei: 90n, capWei: null, minimum: null, bidder: 'caller', ...changes });
}

describe('the price of a first version', () => {
  it('is the market’s', () => {
    assert.deepEqual(choose({}), market);
  });

  it('is the market’s lowered to the cap, the priority with it', () => {
    assert.deepEqual(choose({ capWei: 150n }), { kind: 'eip1559', maxFeePerGasWei: 150n, maxPriorityFeePerGasWei: 20n });
    assert.deepEqual(choose({ capWei: 15n, baseFeeWei: 10n }), { kind: 'eip1559', maxFeePerGasWei: 15n, maxPriorityFeePerGasWei: 15n });
  });

  it('waits while the base fee is above the cap, whoever asks', () => {
    for (const changes of [{}, { explicit: { kind: 'legacy', gasPriceWei: 50n } }, { bidder: 'self_transfer' }] as const) {
      const refusal = choose({ ...changes, capWei: 89n });
      assert.ok('refused' in refusal);
      assert.equal(refusal.refused, 'above_cap');
      assert.equal(refusal.lasting, false);
      assert.match(
        refusal.sentence,
        /^waiting: base fee 0\.00000009 gwei is above gas_price_cap 0\.000000089 gwei; will send when it falls$/,
      );
    }
  });

  it('is what the caller demands, also far below the market', () => {
    assert.deepEqual(choose({ explicit: { kind: 'legacy', gasPriceWei: 1n } }), { kind: 'legacy', gasPriceWei: 1n });
  });

  it('is refused for good where the caller demands more than the cap', () => {
    const refusal = choose({ explicit: { kind: 'legacy', gasPriceWei: 151n }, capWei: 150n });
    assert.ok('refused' in refusal);
    assert.deepEqual([refusal.refused, refusal.lasting], ['above_cap', true]);
  });
});

describe('the price of a replacement', () => {
  const minimum = minimumReplacement(earlier);

  it('is the minimum where the market is lower', () => {
    assert.deepEqual(choose({ minimum }), { kind: 'eip1559', maxFeePerGasWei: 331n, maxPriorityFeePerGasWei: 34n });
  });

  it('is the market where that is higher', () => {
    const dear: EvmPrice = { kind: 'eip1559', maxFeePerGasWei: 900n, maxPriorityFeePerGasWei: 90n };
    assert.deepEqual(choose({ minimum, market: dear }), dear);
  });

  it('is refused above the cap, with the price it would take', () => {
    const refusal = choose({ minimum, capWei: 330n });
    assert.ok('refused' in refusal);
    assert.equal(refusal.refused, 'above_cap');
    assert.match(refusal.sentence, /0\.000000331 gwei, above gas_price_cap 0\.00000033 gwei;/);
  });

  it('refuses a demand below the minimum, stating it', () => {
    const refusal = choose({ minimum, explicit: { kind: 'eip1559', maxFeePerGasWei: 331n, maxPriorityFeePerGasWei: 33n } });
    assert.ok('refused' in refusal);
    assert.equal(refusal.refused, 'underpriced');
    assert.match(refusal.sentence, /max_fee_per_gas must be at least 331 wei and max_priority_fee_per_gas at least 34 wei/);
    const legacy = choose({ minimum, explicit: { kind: 'legacy', gasPriceWei: 330n } });
    assert.ok('refused' in legacy);
    assert.match(legacy.sentence, /gas_price must be at least 331 wei/);
  });

  it('takes a demand that meets the minimum exactly', () => {
    const explicit: EvmPrice = { kind: 'eip1559', maxFeePerGasWei: 331n, maxPriorityFeePerGasWei: 34n };
    assert.deepEqual(choose({ minimum, explicit, capWei: 331n }), explicit);
  });

  it('counts a legacy version as both numbers when the type changes', () => {
    const floor = minimumOutbid([{ kind: 'legacy', gasPriceWei: 300n }]);
    assert.deepEqual(choose({ minimum: floor }), { kind: 'eip1559', maxFeePerGasWei: 331n, maxPriorityFeePerGasWei: 331n });
  });
});

describe('the service’s own bid', () => {
  const minimum = minimumReplacement({ kind: 'eip1559', maxFeePerGasWei: 100n, maxPriorityFeePerGasWei: 10n });
  const explicit: EvmPrice = { kind: 'eip1559', maxFeePerGasWei: 100n, maxPriorityFeePerGasWei: 10n };

  it('raises an explicit price to the market and the minimum', () => {
    assert.deepEqual(choose({ bidder: 'service', explicit, minimum }), market);
  });

  it('goes to the cap and no further', () => {
    const price = choose({ bidder: 'service', explicit, minimum, capWei: 150n });
    assert.deepEqual(price, { kind: 'eip1559', maxFeePerGasWei: 150n, maxPriorityFeePerGasWei: 20n });
  });

  it('stays where the minimum is above the cap', () => {
    const refusal = choose({ bidder: 'service', explicit, minimum, capWei: 110n });
    assert.ok('refused' in refusal);
    assert.deepEqual([refusal.refused, refusal.lasting], ['above_cap', false]);
  });
});

describe('a self-transfer', () => {
  it('passes the cap up to the minimum, never to the market', () => {
    const minimum = minimumReplacement({ kind: 'eip1559', maxFeePerGasWei: 100n, maxPriorityFeePerGasWei: 10n });
    const price = choose({ bidder: 'self_transfer', minimum, capWei: 100n, baseFeeWei: 5000n });
    assert.deepEqual(price, { kind: 'eip1559', maxFeePerGasWei: 111n, maxPriorityFeePerGasWei: 20n });
  });
});

describe('whatever is chosen', () => {
  const wei = fc.bigInt(0n, 10n ** 12n);
  const price = fc.oneof(
    wei.map((gasPriceWei): EvmPrice => ({ kind: 'legacy', gasPriceWei })),
    fc.tuple(wei, wei).map(([tip, rest]): EvmPrice => {
      return { kind: 'eip1559', maxFeePerGasWei: tip + rest, maxPriorityFeePerGasWei: tip };
    }),
  );
  const choice = fc
    .record({
      explicit: fc.option(price),
      market: price,
      baseFeeWei: fc.option(wei),
      capWei: fc.option(wei),
      minimum: fc.array(price, { maxLength: 3 }).map(minimumOutbid),
      bidder: fc.constantFrom('caller' as const, 'service' as const, 'self_transfer' as const),
    })
    .map((given) => (given.bidder === 'self_transfer' ? { ...given, explicit: null } : given));

  it('outbids all earlier versions, keeps priority within max fee, and passes the cap only to free a slot', () => {
    fc.assert(
      fc.property(choice, (given) => {
        const chosen = choosePrice(given);
        if ('refused' in chosen) return;
        const bid = bidOf(chosen);
        assert.ok(bid.maxPriorityFeePerGasWei <= bid.maxFeePerGasWei);
        if (given.minimum !== null) assert.ok(reaches(chosen, given.minimum));
        if (given.capWei === null || maxCostPerGasWei(chosen) <= given.capWei) return;
        assert.equal(given.bidder, 'self_transfer');
        assert.ok(given.minimum !== null);
        assert.deepEqual(chosen, raisedTo(loweredTo(given.market, given.capWei), given.minimum));
      }),
      { numRuns: runs(500) },
    );
  });

  it('is given, where there is no cap, unless the caller demands too little', () => {
    fc.assert(
      fc.property(choice, (given) => {
        const chosen = choosePrice({ ...given, capWei: null });
        if ('refused' in chosen) assert.deepEqual([chosen.refused, given.bidder], ['underpriced', 'caller']);
      }),
    );
  });
});
