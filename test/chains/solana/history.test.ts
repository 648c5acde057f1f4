import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { blocksCall, hasEveryBlock } from '../../../src/chains/solana/history.js';

/** Slots 3, 7 and 8 have no block. */
const slots = [1n, 2n, 4n, 5n, 6n, 9n, 10n, 11n];
const since = { slot: 2n, height: 101n };
const finalized = { slot: 11n, height: 107n };

describe('history', () => {
  it('history: is complete if it has as many blocks as the difference of heights', () => {
    assert.ok(hasEveryBlock(slots, since, finalized));
    assert.ok(hasEveryBlock([...slots, 12n, 13n], since, finalized), 'newer blocks do not matter');
    assert.ok(hasEveryBlock(slots, { slot: 11n, height: 107n }, finalized));
  });

  it('history: is complete if another block has the height of the first', () => {
    assert.ok(hasEveryBlock([1n, 3n, 4n, 5n, 6n, 9n, 10n, 11n], since, finalized));
  });

  it('history: is incomplete if any block is missing', () => {
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

  it('history: is requested up to the height, and at most what nodes return', () => {
    assert.deepEqual(blocksCall(since, 300n).params, [2, 263, { commitment: 'finalized' }]);
    assert.deepEqual(blocksCall(since, 10_000_000n).params, [2, 500_000, { commitment: 'finalized' }]);
  });
});
