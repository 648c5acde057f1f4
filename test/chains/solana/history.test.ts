import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { blocksCall, hasEveryBlock } from '../../../src/chains/solana/history.js';

/** Slots 3, 7 and 8 went by without a block. */
const slots = [1n, 2n, 4n, 5n, 6n, 9n, 10n, 11n];
const since = { slot: 2n, height: 101n };
const finalized = { slot: 11n, height: 107n };

describe('a history', () => {
  it('is whole when it has as many blocks as the heights are apart', () => {
    assert.ok(hasEveryBlock(slots, since, finalized));
    assert.ok(hasEveryBlock([...slots, 12n, 13n], since, finalized), 'newer ones do not matter');
    assert.ok(hasEveryBlock(slots, { slot: 11n, height: 107n }, finalized));
  });

  it('is whole when another block has taken the height of the first', () => {
    assert.ok(hasEveryBlock([1n, 3n, 4n, 5n, 6n, 9n, 10n, 11n], since, finalized));
  });

  it('is not whole when any block is missing', () => {
    for (const missing of [2n, 4n, 5n, 6n, 9n, 10n, 11n]) {
      assert.ok(
        !hasEveryBlock(
          slots.filter((slot) => slot !== missing),
          since,
          finalized,
        ),
        String(missing),
      );
    }
    assert.ok(!hasEveryBlock([], since, finalized));
    assert.ok(!hasEveryBlock(slots, { slot: 12n, height: 108n }, finalized));
  });

  it('is asked for as far as it may reach, and no further than nodes tell', () => {
    assert.deepEqual(blocksCall(since, 300n).params, [2, 263, { commitment: 'finalized' }]);
    assert.deepEqual(blocksCall(since, 10_000_000n).params, [2, 500_000, { commitment: 'finalized' }]);
  });
});
