import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { blocksCall, hasEveryBlock } from '../../../src/chains/solana/history.js';

/** Slots 3, 7 and 8 have no block. */
const slots = [1n, 2n, 4n, 5n, 6n, 9n, 10n, 11n];
/** The blocks at slots 2, 4 and 5. */
const searched = { blocks: 3, last: { slot: 5n, height: 103n } };
const finalized = { slot: 11n, height: 107n };

describe('history', () => {
  it('history: is complete if it has the blocks that were searched, and as many as the difference of heights after them', () => {
    assert.ok(hasEveryBlock(slots, 2n, searched, finalized));
    assert.ok(hasEveryBlock([...slots, 12n, 13n], 2n, searched, finalized), 'newer blocks do not matter');
    assert.ok(hasEveryBlock(slots, 11n, { blocks: 1, last: finalized }, finalized));
    assert.ok(hasEveryBlock(slots, 3n, { ...searched, blocks: 2 }, finalized), 'its first slot has no block');
  });

  it('history: is complete without a height if it has the blocks that were searched', () => {
    assert.ok(hasEveryBlock(slots, 2n, { ...searched, last: { slot: 5n, height: null } }, finalized));
  });

  it('history: is incomplete if any block is missing', () => {
    for (const missing of [2n, 4n, 5n, 6n, 9n, 10n, 11n]) {
      const rest = slots.filter((slot) => slot !== missing);
      assert.ok(!hasEveryBlock(rest, 2n, searched, finalized), String(missing));
    }
    assert.ok(!hasEveryBlock([], 2n, searched, finalized));
    assert.ok(!hasEveryBlock(slots, 12n, searched, finalized));
    assert.ok(!hasEveryBlock(slots, 2n, searched, { slot: 4n, height: 102n }), 'its newest block is one that was searched');
  });

  it('history: is another one if its heights do not fit the blocks that were searched', () => {
    for (const height of [102n, 104n]) assert.ok(!hasEveryBlock(slots, 2n, { ...searched, last: { slot: 5n, height } }, finalized));
  });

  it('history: is requested up to the slot, and at most what nodes return', () => {
    assert.deepEqual(blocksCall(2n, 201n).params, [2, 263, { commitment: 'finalized' }]);
    assert.deepEqual(blocksCall(2n, 10_000_000n).params, [2, 500_000, { commitment: 'finalized' }]);
  });
});
