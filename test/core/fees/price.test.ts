import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  bidOf,
  loweredTo,
  maxCost,
  maxCostPerGasWei,
  minimumOutbid,
  minimumReplacement,
  raisedTo,
  reaches,
} from '../../../src/core/fees/price.js';
import type { EvmPrice } from '../../../src/core/records/evm.js';
import type { AttemptFields } from '../../../src/core/records/transaction.js';
import { anAttempt } from '../../support/stored-samples.js';

const wei = fc.bigInt(0n, 2n ** 128n - 1n);
const legacy = wei.map((gasPriceWei): EvmPrice => ({ kind: 'legacy', gasPriceWei }));
const eip1559 = fc.tuple(wei, wei).map(([a, b]): EvmPrice => {
  return { kind: 'eip1559', maxFeePerGasWei: a > b ? a : b, maxPriorityFeePerGasWei: a > b ? b : a };
});
const price = fc.oneof(legacy, eip1559);
const floor = fc.record({ maxFeePerGasWei: wei, maxPriorityFeePerGasWei: wei });

describe('raisedTo', () => {
  it('raisedTo: reaches the floor, keeps the type, lowers nothing, and keeps the priority fee within the max fee', () => {
    fc.assert(
      fc.property(price, floor, (given, least) => {
        const raised = raisedTo(given, least);
        assert.equal(raised.kind, given.kind);
        assert.ok(reaches(raised, least) && reaches(raised, bidOf(given)));
        assert.ok(bidOf(raised).maxPriorityFeePerGasWei <= bidOf(raised).maxFeePerGasWei);
        const numbers = [...Object.values(bidOf(given)), ...Object.values(least)];
        assert.ok(numbers.includes(maxCostPerGasWei(raised)), 'it costs what was asked, not more');
      }),
    );
  });

  it('raisedTo: changes nothing if the price reaches the floor, or the second time', () => {
    fc.assert(
      fc.property(price, floor, (given, least) => {
        const raised = raisedTo(given, least);
        assert.deepEqual(raisedTo(raised, least), raised);
        if (reaches(given, least)) assert.deepEqual(raised, given);
      }),
    );
  });
});

describe('loweredTo', () => {
  it('loweredTo: costs at most the cap and the old price, keeps the type, and keeps the priority fee within the max fee', () => {
    fc.assert(
      fc.property(price, fc.option(wei), (given, cap) => {
        const lowered = loweredTo(given, cap);
        assert.equal(lowered.kind, given.kind);
        assert.ok(reaches(given, bidOf(lowered)));
        assert.ok(bidOf(lowered).maxPriorityFeePerGasWei <= bidOf(lowered).maxFeePerGasWei);
        if (cap === null || maxCostPerGasWei(given) <= cap) assert.deepEqual(lowered, given);
        else assert.equal(maxCostPerGasWei(lowered), cap);
      }),
    );
  });
});

describe('minimumReplacement', () => {
  it('minimumReplacement: is floor(old × 11 / 10) + 1 for max fee and priority fee each', () => {
    const minimum = minimumReplacement({ kind: 'eip1559', maxFeePerGasWei: 109n, maxPriorityFeePerGasWei: 10n });
    assert.deepEqual(minimum, { maxFeePerGasWei: 120n, maxPriorityFeePerGasWei: 12n });
  });

  it('minimumReplacement: counts a legacy price as both numbers', () => {
    const minimum = minimumReplacement({ kind: 'legacy', gasPriceWei: 100n });
    assert.deepEqual(minimum, { maxFeePerGasWei: 111n, maxPriorityFeePerGasWei: 111n });
  });

  it('minimumReplacement: is one wei if the earlier attempt paid nothing', () => {
    assert.deepEqual(minimumReplacement({ kind: 'legacy', gasPriceWei: 0n }), { maxFeePerGasWei: 1n, maxPriorityFeePerGasWei: 1n });
  });

  it('minimumReplacement: exceeds ten percent by at most one wei', () => {
    fc.assert(
      fc.property(price, (previous) => {
        const bid = bidOf(previous);
        const minimum = minimumReplacement(previous);
        for (const field of ['maxFeePerGasWei', 'maxPriorityFeePerGasWei'] as const) {
          assert.ok(minimum[field] * 10n > bid[field] * 11n);
          assert.ok((minimum[field] - 1n) * 10n <= bid[field] * 11n);
        }
      }),
    );
  });
});

describe('minimumOutbid', () => {
  it('minimumOutbid: is null without earlier attempts', () => {
    assert.equal(minimumOutbid([]), null);
  });

  it('minimumOutbid: takes each number from the attempt with the highest one', () => {
    const dear: EvmPrice = { kind: 'eip1559', maxFeePerGasWei: 1000n, maxPriorityFeePerGasWei: 10n };
    const generous: EvmPrice = { kind: 'eip1559', maxFeePerGasWei: 500n, maxPriorityFeePerGasWei: 100n };
    assert.deepEqual(minimumOutbid([dear, generous]), { maxFeePerGasWei: 1101n, maxPriorityFeePerGasWei: 111n });
  });

  it('minimumOutbid: reaches the minimum of every attempt and no more', () => {
    fc.assert(
      fc.property(fc.array(price, { minLength: 1, maxLength: 5 }), (previous) => {
        const floor = minimumOutbid(previous);
        assert.ok(floor !== null);
        const met: EvmPrice = { kind: 'eip1559', ...floor };
        assert.ok(previous.every((each) => reaches(met, minimumReplacement(each))));
        assert.ok(previous.some((each) => minimumReplacement(each).maxFeePerGasWei === floor.maxFeePerGasWei));
        assert.ok(previous.some((each) => minimumReplacement(each).maxPriorityFeePerGasWei === floor.maxPriorityFeePerGasWei));
      }),
    );
  });
});

describe('maxCost', () => {
  it('maxCost: is all that an attempt may take from the account', () => {
    const evm = anAttempt({ transactionId: 't' }).fields;
    const price: EvmPrice = { kind: 'eip1559', maxFeePerGasWei: 7n, maxPriorityFeePerGasWei: 3n };
    assert.equal(maxCost({ ...evm, valueWei: 1_000n, gasLimit: 11n, price, publishingFeeWei: 13n }), 1_000n + 77n + 13n);
    assert.equal(maxCost({ network: 'stellar', costStroops: 17n } as AttemptFields), 17n);
    assert.equal(maxCost({ network: 'solana', costLamports: 19n } as AttemptFields), 19n);
  });
});
