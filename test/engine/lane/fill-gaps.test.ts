import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { emptyNonces } from '../../../src/engine/lane/fill-gaps.js';

describe('gaps', () => {
  it('a gap is a free nonce between the nonce of the chain and ours', () => {
    assert.deepEqual(
      emptyNonces(3n, 8n, (nonce) => nonce === 4n || nonce === 6n, 50),
      [3n, 5n, 7n],
    );
    assert.deepEqual(
      emptyNonces(8n, 8n, () => false, 50),
      [],
    );
    assert.deepEqual(
      emptyNonces(9n, 8n, () => false, 50),
      [],
    );
  });

  it('the lowest gaps are found without looking at more nonces than needed', () => {
    const nonce = fc.bigInt(0n, 60n);
    fc.assert(
      fc.property(nonce, nonce, fc.uniqueArray(nonce), fc.integer({ min: 0, max: 20 }), (chainNonce, nextNonce, taken, most) => {
        const naive = Array.from({ length: 61 }, (_, index) => BigInt(index)).filter(
          (one) => one >= chainNonce && one < nextNonce && !taken.includes(one),
        );
        const looked: bigint[] = [];
        const found = emptyNonces(
          chainNonce,
          nextNonce,
          (one) => {
            looked.push(one);
            return taken.includes(one);
          },
          most,
        );
        assert.deepEqual(found, naive.slice(0, most));
        assert.ok(looked.every((one) => one >= chainNonce && (found.length < most || one <= (found.at(-1) ?? -1n))));
      }),
    );
  });
});
