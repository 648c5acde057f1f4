import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { bidOf, greatestCostPerGasWei, loweredTo, raisedTo, reaches } from '../../../src/core/fees/price.js';
import type { EvmPrice } from '../../../src/core/transaction/evm.js';

const wei = fc.bigInt(0n, 2n ** 128n - 1n);
const price = fc.oneof(
  wei.map((gasPriceWei): EvmPrice => ({ kind: 'legacy', gasPriceWei })),
  fc.tuple(wei, wei).map(([a, b]): EvmPrice => {
    return { kind: 'eip1559', maxFeePerGasWei: a > b ? a : b, maxPriorityFeePerGasWei: a > b ? b : a };
  }),
);
const floor = fc.record({ maxFeePerGasWei: wei, maxPriorityFeePerGasWei: wei });

describe('a price that is raised', () => {
  it('reaches the floor, keeps its type, gives nothing away, and keeps the priority within the max fee', () => {
    fc.assert(
      fc.property(price, floor, (given, least) => {
        const raised = raisedTo(given, least);
        assert.equal(raised.kind, given.kind);
        assert.ok(reaches(raised, least) && reaches(raised, bidOf(given)));
        assert.ok(bidOf(raised).maxPriorityFeePerGasWei <= bidOf(raised).maxFeePerGasWei);
        const numbers = [...Object.values(bidOf(given)), ...Object.values(least)];
        assert.ok(numbers.includes(greatestCostPerGasWei(raised)), 'it costs what was asked, not more');
      }),
    );
  });

  it('is the same where it reaches the floor already, and when it is raised twice', () => {
    fc.assert(
      fc.property(price, floor, (given, least) => {
        const raised = raisedTo(given, least);
        assert.deepEqual(raisedTo(raised, least), raised);
        if (reaches(given, least)) assert.deepEqual(raised, given);
      }),
    );
  });
});

describe('a price that is lowered', () => {
  it('never costs more than the cap nor than before, keeps its type and the priority within the max fee', () => {
    fc.assert(
      fc.property(price, fc.option(wei), (given, cap) => {
        const lowered = loweredTo(given, cap);
        assert.equal(lowered.kind, given.kind);
        assert.ok(reaches(given, bidOf(lowered)));
        assert.ok(bidOf(lowered).maxPriorityFeePerGasWei <= bidOf(lowered).maxFeePerGasWei);
        if (cap === null || greatestCostPerGasWei(given) <= cap) assert.deepEqual(lowered, given);
        else assert.equal(greatestCostPerGasWei(lowered), cap);
      }),
    );
  });
});
