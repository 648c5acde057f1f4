import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { feeToFree } from '../../../src/chains/stellar/fee-rules.js';
import { priceAttempt, priceWithin } from '../../../src/chains/stellar/price-attempt.js';
import { defaultPolicies } from '../../../src/core/records/relayer.js';
import { runs } from '../../support/runs.js';

const amounts = (most: bigint) => fc.bigInt({ min: 0n, max: most });

describe('max_cost on Stellar', () => {
  it('no attempt costs more than its rule allows, nor what frees its slot, and what fits is not refused', () => {
    const seen = new Map<string, number>();
    const request = fc.record({
      operations: fc.integer({ min: 1, max: 10 }),
      max: amounts(2_000_000n),
      value: amounts(500_000n),
      resourceFeeStroops: fc.oneof(fc.constant(0n), amounts(200_000n)),
      declaresResourceFee: fc.boolean(),
      least: fc.bigInt({ min: 100n, max: 20_000n }),
      market: fc.bigInt({ min: 100n, max: 50_000n }),
      maxFeeStroops: fc.option(amounts(3_000_000n), { nil: null }),
      isFiller: fc.boolean(),
      takesSlot: fc.boolean(),
    });
    fc.assert(
      fc.property(request, ({ operations, max, value, least, market, isFiller, takesSlot, ...rest }) => {
        const minStroops = least * BigInt(operations);
        const resourceFeeStroops = isFiller ? 0n : rest.resourceFeeStroops;
        const priced = {
          ...{ ...rest, resourceFeeStroops, policies: defaultPolicies.stellar, operationCount: operations, minStroops, isFiller },
          ...{ bidPerOperationStroops: market, takesSlot: takesSlot && !isFiller },
        };
        const costs = { bound: { ruleId: 'teams', max }, valueStroops: value };
        const bid = priceWithin({ ...priced, costs, mustLeaveRoom: !isFiller, isReplacement: false });
        const free = priceAttempt(priced);
        const count = (name: string) => void seen.set(name, (seen.get(name) ?? 0) + 1);
        if ('refused' in bid) {
          count(bid.refused);
          if (bid.refused !== 'above_max_cost') return assert.ok('refused' in free, 'only what is refused without a maximum');
          const wanted = priced.takesSlot && market * BigInt(operations) > minStroops ? market * BigInt(operations) : minStroops;
          const needs = [wanted + resourceFeeStroops, feeToFree(wanted, operations)].map((fee) => value + fee);
          return assert.ok(isFiller ? minStroops > max : needs.some((cost) => cost > max), 'it is refused although it fits');
        }
        count(isFiller ? 'filler' : 'bid');
        const inclusion = bid.feeStroops - bid.resourceFeeStroops;
        assert.ok(inclusion >= minStroops);
        if (isFiller) return assert.ok(bid.feeStroops <= max);
        assert.ok(value + bid.feeStroops <= max, 'the attempt');
        assert.ok(value + feeToFree(inclusion, operations) <= max, 'what frees its slot');
        assert.ok('refused' in free || bid.feeStroops <= free.feeStroops, 'a maximum raises no fee');
      }),
      { numRuns: runs(5_000) },
    );
    for (const kind of ['bid', 'filler', 'above_max_cost']) assert.ok((seen.get(kind) ?? 0) > 50, `${kind}: ${seen.get(kind)}`);
  });
});
