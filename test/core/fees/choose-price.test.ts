import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { choosePrice, type PriceChoice } from '../../../src/core/fees/choose-price.js';
import { bidOf, loweredTo, maxCostPerGasWei, minimumOutbid, minimumReplacement, raisedTo, reaches } from '../../../src/core/fees/price.js';
import type { BumpReason, Refusal } from '../../../src/core/ports/chain/drafts.js';
import type { EvmPrice } from '../../../src/core/records/evm.js';
import { runs } from '../../support/runs.js';

const market: EvmPrice = { kind: 'eip1559', maxFeePerGasWei: 200n, maxPriorityFeePerGasWei: 20n };
const earlier: EvmPrice = { kind: 'eip1559', maxFeePerGasWei: 300n, maxPriorityFeePerGasWei: 30n };

function choose(changes: Partial<PriceChoice>): ReturnType<typeof choosePrice> {
  const usual = {
    explicit: null,
    market,
    baseFeeWei: 90n,
    capWei: null,
    minimum: null,
    contentMinimum: null,
    bidder: 'caller',
    bump: null,
  } as const;
  return choosePrice({ ...usual, ...changes });
}

describe('price of a first attempt', () => {
  it('a first attempt bids the market price', () => {
    assert.deepEqual(choose({}), market);
  });

  it('a first attempt lowers the market price and its priority fee to the cap', () => {
    assert.deepEqual(choose({ capWei: 150n }), { kind: 'eip1559', maxFeePerGasWei: 150n, maxPriorityFeePerGasWei: 20n });
    assert.deepEqual(choose({ capWei: 15n, baseFeeWei: 10n }), { kind: 'eip1559', maxFeePerGasWei: 15n, maxPriorityFeePerGasWei: 15n });
  });

  it('a first attempt waits while the base fee is above the cap', () => {
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

  it('a first attempt uses the caller’s price, even far below the market', () => {
    assert.deepEqual(choose({ explicit: { kind: 'legacy', gasPriceWei: 1n } }), { kind: 'legacy', gasPriceWei: 1n });
  });

  it('a caller’s price above the cap is refused for good', () => {
    const refusal = choose({ explicit: { kind: 'legacy', gasPriceWei: 151n }, capWei: 150n });
    assert.ok('refused' in refusal);
    assert.deepEqual([refusal.refused, refusal.lasting], ['above_cap', true]);
  });
});

describe('price of a replacement', () => {
  const minimum = minimumReplacement(earlier);

  it('a replacement bids the minimum if the market is lower', () => {
    assert.deepEqual(choose({ minimum }), { kind: 'eip1559', maxFeePerGasWei: 331n, maxPriorityFeePerGasWei: 34n });
  });

  it('a replacement bids the market price if that is higher', () => {
    const dear: EvmPrice = { kind: 'eip1559', maxFeePerGasWei: 900n, maxPriorityFeePerGasWei: 90n };
    assert.deepEqual(choose({ minimum, market: dear }), dear);
  });

  it('a replacement above the cap is refused with the price that it needs', () => {
    const refusal = choose({ minimum, capWei: 330n });
    assert.ok('refused' in refusal);
    assert.equal(refusal.refused, 'above_cap');
    assert.match(refusal.sentence, /0\.000000331 gwei, above gas_price_cap 0\.00000033 gwei;/);
  });

  it('a caller’s price below the minimum is refused with the minimum', () => {
    const refusal = choose({ minimum, explicit: { kind: 'eip1559', maxFeePerGasWei: 331n, maxPriorityFeePerGasWei: 33n } });
    assert.ok('refused' in refusal);
    assert.equal(refusal.refused, 'underpriced');
    assert.match(refusal.sentence, /max_fee_per_gas must be at least 331 wei and max_priority_fee_per_gas at least 34 wei/);
    const legacy = choose({ minimum, explicit: { kind: 'legacy', gasPriceWei: 330n } });
    assert.ok('refused' in legacy);
    assert.match(legacy.sentence, /gas_price must be at least 331 wei/);
  });

  it('a caller’s price equal to the minimum is accepted', () => {
    const explicit: EvmPrice = { kind: 'eip1559', maxFeePerGasWei: 331n, maxPriorityFeePerGasWei: 34n };
    assert.deepEqual(choose({ minimum, explicit, capWei: 331n }), explicit);
  });

  it('a legacy attempt counts as both numbers when the type changes', () => {
    const floor = minimumOutbid([{ kind: 'legacy', gasPriceWei: 300n }]);
    assert.deepEqual(choose({ minimum: floor }), { kind: 'eip1559', maxFeePerGasWei: 331n, maxPriorityFeePerGasWei: 331n });
  });
});

describe('price of a fee bump', () => {
  const minimum = minimumReplacement({ kind: 'eip1559', maxFeePerGasWei: 100n, maxPriorityFeePerGasWei: 10n });
  const explicit: EvmPrice = { kind: 'eip1559', maxFeePerGasWei: 100n, maxPriorityFeePerGasWei: 10n };

  it('a fee bump raises an explicit price to the market and the minimum', () => {
    assert.deepEqual(choose({ bidder: 'service', explicit, minimum }), market);
  });

  it('a fee bump never exceeds the cap', () => {
    const price = choose({ bidder: 'service', explicit, minimum, capWei: 150n });
    assert.deepEqual(price, { kind: 'eip1559', maxFeePerGasWei: 150n, maxPriorityFeePerGasWei: 20n });
  });

  it('a fee bump is refused if the minimum is above the cap', () => {
    const refusal = choose({ bidder: 'service', explicit, minimum, capWei: 110n });
    assert.ok('refused' in refusal);
    assert.deepEqual([refusal.refused, refusal.lasting], ['above_cap', false]);
  });
});

describe('limits of a fee bump', () => {
  const eip1559 = (maxFeePerGasWei: bigint, maxPriorityFeePerGasWei: bigint): EvmPrice => ({
    kind: 'eip1559',
    maxFeePerGasWei,
    maxPriorityFeePerGasWei,
  });
  /** A bump of a live bid; the market is 200 with a priority fee of 20, and the base fee 90. */
  function bumped(
    live: EvmPrice,
    { first = live, reason = 'waited' }: { first?: EvmPrice; reason?: BumpReason } = {},
    changes: Partial<PriceChoice> = {},
  ) {
    return choose({ bidder: 'service', minimum: minimumReplacement(live), bump: { live, first, reason }, ...changes });
  }
  const refusalOf = (chosen: ReturnType<typeof choosePrice>) => ('refused' in chosen ? [chosen.refused, chosen.lasting] : chosen);

  it('fee bump: raises nothing if the bid pays the market priority fee in the next block, and says so', () => {
    for (const live of [eip1559(110n, 20n), market, eip1559(5_000n, 400n)]) {
      const refused = bumped(live);
      assert.deepEqual(refusalOf(refused), ['bump_limit', false]);
      assert.match('refused' in refused ? refused.sentence : '', /its bid meets the market price/);
    }
  });

  it('fee bump: raises a bid below the market to the market', () => {
    assert.deepEqual(bumped(eip1559(150n, 18n)), market);
    // The max fee is too low, and nodes require both to rise.
    assert.deepEqual(bumped(eip1559(109n, 20n)), eip1559(200n, 23n));
    assert.deepEqual(bumped({ kind: 'legacy', gasPriceWei: 100n }, {}, { market: { kind: 'legacy', gasPriceWei: 200n } }), {
      kind: 'legacy',
      gasPriceWei: 200n,
    });
    const atLegacyMarket = bumped({ kind: 'legacy', gasPriceWei: 200n }, {}, { market: { kind: 'legacy', gasPriceWei: 200n } });
    assert.deepEqual(refusalOf(atLegacyMarket), ['bump_limit', false]);
  });

  it('fee bump: outbids once more what a node rejects, also above the market', () => {
    assert.deepEqual(bumped(market, { reason: 'demanded' }), eip1559(221n, 23n));
  });

  it('fee bump: never bids more than ten times the market and the first bid, whichever is higher', () => {
    const first = eip1559(100n, 1n);
    assert.deepEqual(bumped(eip1559(1_800n, 170n), { first, reason: 'demanded' }), eip1559(1_981n, 188n));
    assert.deepEqual(refusalOf(bumped(eip1559(1_900n, 170n), { first, reason: 'demanded' })), ['bump_limit', false]);
    assert.deepEqual(refusalOf(bumped(eip1559(1_000n, 190n), { first, reason: 'demanded' })), ['bump_limit', false]);
    assert.deepEqual(refusalOf(bumped(eip1559(2_500n, 10n), { first })), ['bump_limit', false]);
    const dear = eip1559(2_500n, 10n);
    assert.deepEqual(bumped(dear, { first: dear }), eip1559(2_751n, 20n));
    assert.deepEqual(bumped(dear, { first }, { explicit: dear }), eip1559(2_751n, 20n));
  });

  it('fee bump: stays bounded however often it is repeated, in every market', () => {
    const wei = fc.bigInt(0n, 10n ** 12n);
    const bid = fc.tuple(wei, wei).map(([tip, rest]) => eip1559(tip + rest, tip));
    fc.assert(
      fc.property(bid, fc.array(fc.tuple(bid, fc.boolean()), { minLength: 1, maxLength: 60 }), (first, rounds) => {
        let highest = bidOf(first).maxFeePerGasWei;
        const attempts = [first];
        for (const [now, isDemanded] of rounds) {
          if (bidOf(now).maxFeePerGasWei > highest) highest = bidOf(now).maxFeePerGasWei;
          const live = attempts.at(-1) ?? first;
          const bump = { live, first, reason: isDemanded ? 'demanded' : 'waited' } as const;
          const price = choose({ market: now, baseFeeWei: 0n, bidder: 'service', minimum: minimumOutbid(attempts), bump });
          if (!('refused' in price)) attempts.push(price);
        }
        for (const attempt of attempts) assert.ok(maxCostPerGasWei(attempt) <= 10n * (highest === 0n ? 1n : highest));
      }),
    );
  });
});

describe('refusals of a price', () => {
  const eip1559 = (maxFeePerGasWei: bigint, maxPriorityFeePerGasWei: bigint): EvmPrice => ({
    kind: 'eip1559',
    maxFeePerGasWei,
    maxPriorityFeePerGasWei,
  });
  const legacy = (gasPriceWei: bigint): EvmPrice => ({ kind: 'legacy', gasPriceWei });
  const minimum = minimumReplacement(earlier);
  const tooExpensive = (live: EvmPrice) => ({ bidder: 'service', bump: { live, first: live, reason: 'too_expensive' } }) as const;
  const notLower =
    'waiting: every RPC node rejects the maximum cost of this transaction; a lower price would not be mined; will send when the market price falls';
  const rows: readonly (readonly [string, Partial<PriceChoice>, Refusal])[] = [
    [
      'a base fee of one wei more than the cap',
      { baseFeeWei: 2_000_000_001n, capWei: 2_000_000_000n },
      {
        refused: 'above_cap',
        sentence: 'waiting: base fee 2.000000001 gwei is above gas_price_cap 2 gwei; will send when it falls',
        lasting: false,
        metadata: { base_fee_wei: '2000000001', cap_wei: '2000000000' },
      },
    ],
    [
      'a gas price of the caller above the cap',
      { explicit: legacy(151n), capWei: 150n },
      {
        refused: 'above_cap',
        sentence: "gas_price is 151 wei; the relayer's gas_price_cap allows at most 150 wei",
        lasting: true,
        metadata: { actual_wei: '151', cap_wei: '150' },
      },
    ],
    [
      'a max fee of the caller above the cap',
      { explicit: eip1559(151n, 3n), capWei: 150n },
      {
        refused: 'above_cap',
        sentence: "max_fee_per_gas is 151 wei; the relayer's gas_price_cap allows at most 150 wei",
        lasting: true,
        metadata: { actual_wei: '151', cap_wei: '150' },
      },
    ],
    [
      'a gas price of the caller below the minimum',
      { minimum, explicit: legacy(330n) },
      {
        refused: 'underpriced',
        sentence: 'gas_price must be at least 331 wei to replace the earlier attempts',
        lasting: true,
        metadata: { minimum_wei: '331' },
      },
    ],
    [
      'a bid of the caller below the minimum',
      { minimum, explicit: eip1559(332n, 33n), capWei: 332n },
      {
        refused: 'underpriced',
        sentence: 'max_fee_per_gas must be at least 331 wei and max_priority_fee_per_gas at least 34 wei to replace the earlier attempts',
        lasting: true,
        metadata: { minimum_wei: '331', minimum_priority_wei: '34' },
      },
    ],
    [
      'a bid of the caller below a minimum above the cap',
      { minimum, explicit: eip1559(300n, 33n), capWei: 330n },
      {
        refused: 'above_cap',
        sentence: 'a replacement must bid at least 0.000000331 gwei, above gas_price_cap 0.00000033 gwei; the current attempt stays live',
        lasting: false,
        metadata: { minimum_wei: '331', cap_wei: '330' },
      },
    ],
    [
      'a market price above the cap, although the minimum is not',
      { minimum, market: eip1559(500n, 50n), capWei: 331n },
      {
        refused: 'above_cap',
        sentence:
          'the market price 0.0000005 gwei is above gas_price_cap 0.000000331 gwei; a price of at least 0.000000331 gwei would replace the current attempt, which stays live',
        lasting: false,
        metadata: { minimum_wei: '331', cap_wei: '331' },
      },
    ],
    [
      'a legacy market price above the cap, although the minimum is not',
      { minimum, market: legacy(500n), capWei: 400n },
      {
        refused: 'above_cap',
        sentence:
          'the market price 0.0000005 gwei is above gas_price_cap 0.0000004 gwei; a price of at least 0.000000331 gwei would replace the current attempt, which stays live',
        lasting: false,
        metadata: { minimum_wei: '331', cap_wei: '400' },
      },
    ],
    [
      'a market price and a minimum above the cap',
      { minimum, market: eip1559(500n, 50n), capWei: 330n },
      {
        refused: 'above_cap',
        sentence: 'a replacement must bid at least 0.000000331 gwei, above gas_price_cap 0.00000033 gwei; the current attempt stays live',
        lasting: false,
        metadata: { minimum_wei: '331', cap_wei: '330' },
      },
    ],
    [
      'a bump far above the market',
      {
        bidder: 'service',
        minimum: minimumReplacement(eip1559(5_000n, 5n)),
        bump: { live: earlier, first: eip1559(1n, 1n), reason: 'demanded' },
      },
      {
        refused: 'bump_limit',
        sentence:
          'fee not increased: a bid of 5501 wei per gas would be more than 10 times the market price and the first bid; the current attempt stays live',
        lasting: false,
      },
    ],
    [
      'a live bid that is not a tenth above what the next block takes',
      tooExpensive(eip1559(122n, 20n)),
      { refused: 'bump_limit', sentence: notLower, lasting: false },
    ],
    [
      'a live bid of the caller that costs too much',
      { ...tooExpensive(eip1559(900n, 20n)), explicit: eip1559(900n, 20n) },
      {
        refused: 'bump_limit',
        sentence:
          'waiting: every RPC node rejects the maximum cost of this transaction; the service does not lower a price that the caller set; cancel it, or add an RPC node with a higher fee cap',
        lasting: false,
      },
    ],
  ];
  for (const [name, changes, refusal] of rows) it(`refusal: ${name}`, () => assert.deepEqual(choose(changes), refusal));

  it('refusal: none at a base fee equal to the cap, nor for a minimum equal to it', () => {
    assert.deepEqual(choose({ baseFeeWei: 150n, capWei: 150n }), eip1559(150n, 20n));
    assert.deepEqual(choose({ minimum, capWei: 331n }), eip1559(331n, 34n));
  });

  it('too expensive: lowered to what the next block takes and nodes accept, if that is a tenth less', () => {
    assert.deepEqual(choose(tooExpensive(eip1559(123n, 20n))), eip1559(110n, 20n));
    assert.deepEqual(choose({ ...tooExpensive(legacy(223n)), market: legacy(200n) }), legacy(200n));
    assert.deepEqual(choose({ ...tooExpensive(eip1559(900n, 30n)), minimum }), eip1559(331n, 34n));
  });

  it('fee bump: a first bid and a market of zero still allow ten wei', () => {
    const nothing = eip1559(0n, 0n);
    const given = {
      market: nothing,
      baseFeeWei: 0n,
      bidder: 'service',
      bump: { live: nothing, first: nothing, reason: 'demanded' },
    } as const;
    assert.deepEqual(choose({ ...given, minimum: { maxFeePerGasWei: 10n, maxPriorityFeePerGasWei: 10n } }), eip1559(10n, 10n));
    const above = choose({ ...given, minimum: { maxFeePerGasWei: 11n, maxPriorityFeePerGasWei: 1n } });
    assert.equal('refused' in above && above.refused, 'bump_limit');
  });
});

describe('price of a self-transfer', () => {
  it('a self-transfer exceeds the cap up to the minimum, never up to the market', () => {
    const minimum = minimumReplacement({ kind: 'eip1559', maxFeePerGasWei: 100n, maxPriorityFeePerGasWei: 10n });
    const price = choose({ bidder: 'self_transfer', minimum, capWei: 100n, baseFeeWei: 5000n });
    assert.deepEqual(price, { kind: 'eip1559', maxFeePerGasWei: 111n, maxPriorityFeePerGasWei: 20n });
  });

  it('a self-transfer exceeds the cap by one step once, however often it is raised', () => {
    const market: EvmPrice = { kind: 'eip1559', maxFeePerGasWei: 5000n, maxPriorityFeePerGasWei: 10n };
    const bids: EvmPrice[] = [{ kind: 'eip1559', maxFeePerGasWei: 100n, maxPriorityFeePerGasWei: 10n }];
    for (let count = 0; count < 20; count += 1) {
      const bump = { live: bids.at(-1) as EvmPrice, first: bids[0] as EvmPrice, reason: 'waited' } as const;
      const price = choose({ bidder: 'self_transfer', market, minimum: minimumOutbid(bids), capWei: 100n, baseFeeWei: 5000n, bump });
      if (!('refused' in price)) bids.push(price);
    }
    assert.deepEqual(
      bids.map((bid) => maxCostPerGasWei(bid)),
      [100n, 111n],
    );
  });
});

describe('price of a self-transfer above a lowered cap', () => {
  const content: EvmPrice = { kind: 'eip1559', maxFeePerGasWei: 150n, maxPriorityFeePerGasWei: 10n };

  it('a self-transfer outbids content that was signed under a higher cap, and goes no further in its own bumps', () => {
    const contentMinimum = minimumReplacement(content);
    const given = { bidder: 'self_transfer', capWei: 50n, contentMinimum } as const;
    const first = choose({ ...given, minimum: contentMinimum });
    assert.ok(!('refused' in first));
    assert.equal(maxCostPerGasWei(first), 166n);
    const bump = { live: first, first: content, reason: 'demanded' } as const;
    const second = choose({ ...given, minimum: minimumOutbid([content, first]), bump });
    assert.ok('refused' in second && second.refused === 'above_cap');
  });

  it('content never exceeds a lowered cap', () => {
    const minimum = minimumReplacement(content);
    for (const bidder of ['caller', 'service'] as const)
      assert.ok('refused' in choose({ bidder, capWei: 50n, minimum, contentMinimum: minimum }));
  });
});

describe('every chosen price', () => {
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
      contentMinimum: fc.constant(null),
      bidder: fc.constantFrom('caller' as const, 'service' as const, 'self_transfer' as const),
      bump: fc.constant(null),
    })
    .map((given) => (given.bidder === 'self_transfer' ? { ...given, explicit: null } : given));

  it('every price outbids all earlier attempts, keeps the priority fee within the max fee, and exceeds the cap only to free a slot', () => {
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

  it('without a cap a price is always chosen unless the caller’s is too low', () => {
    fc.assert(
      fc.property(choice, (given) => {
        const chosen = choosePrice({ ...given, capWei: null });
        if ('refused' in chosen) assert.deepEqual([chosen.refused, given.bidder], ['underpriced', 'caller']);
      }),
    );
  });
});
