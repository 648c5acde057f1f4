import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { emptyNonces } from '../../../src/engine/lane/fill-gaps.js';
import { startLaneRig } from '../../support/lane-rig.js';

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

describe('a gap', () => {
  it('a gap: is filled by one self-transfer, even if the answer to its commit is lost', async (test) => {
    let isLost = false;
    const losesAnswer = () => {
      const was = isLost;
      isLost = false;
      return was;
    };
    const rig = await startLaneRig(test, { network: { requiredConfirmations: 10 }, losesAnswer });
    const before = rig.chain.blocks.length;
    rig.chain.useKey('block');
    await rig.pass(2);
    const id = await rig.send();
    assert.equal((await rig.transaction(id)).nonce, 1n);
    rig.chain.takeBack(rig.chain.blocks.length - before, () => false);
    // The next commit is that of the self-transfer.
    await rig.pass(1);
    isLost = true;
    await rig.pass(8);
    assert.equal(isLost, false);
    await rig.pass(14, 9);
    const { total } = await rig.store.read.transactionsOf('r1', [], { offset: 0, limit: 10 });
    assert.equal(total, 2);
    assert.equal((await rig.store.read.openTransactions({ chain: (await rig.transaction(id)).chain, account: '0xr1' })).length, 0);
  });
});
