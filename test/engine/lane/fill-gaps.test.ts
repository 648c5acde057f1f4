import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { bidOf } from '../../../src/core/fees/price.js';
import { emptyNonces } from '../../../src/engine/lane/account-numbers.js';
import { evmFieldsOf } from '../../support/evm.js';
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
  it('a gap: one that the account cannot pay for is looked at once per head, and logged once for all gaps', async (test) => {
    const rig = await startLaneRig(test);
    const before = rig.chain.blocks.length;
    for (let uses = 0; uses < 20; uses += 1) {
      rig.chain.useKey('pool');
      rig.chain.mine(9);
    }
    await rig.pass(3);
    await rig.send();
    rig.chain.takeBack(rig.chain.blocks.length - before, () => false);
    rig.chain.forget(() => false);
    rig.chain.setFunds(0n);
    await rig.pass(3);
    const [asked, warned] = [rig.asked('draft'), rig.lane().warnings.length];
    assert.equal(rig.lane().warnings.filter((line) => /gap/.test(line)).length, 1);
    for (let head = 0; head < 5; head += 1) {
      await rig.pass(1);
      for (let look = 0; look < 10; look += 1) await rig.see(200);
    }
    assert.ok(rig.asked('draft') - asked <= 5, `${rig.asked('draft') - asked} drafts at 5 heads`);
    assert.equal(rig.lane().warnings.length, warned);
  });

  it('a gap: final transactions in it are rebroadcast after more and more blocks while nodes refuse them', async (test) => {
    const rig = await startLaneRig(test, { network: { requiredConfirmations: 2 } });
    const ids = [await rig.send(), await rig.send(), await rig.send()];
    await rig.pass(6, 9);
    for (const id of ids) assert.equal((await rig.transaction(id)).status, 'confirmed');
    rig.chain.takeBack(6, () => false);
    rig.chain.setRefusal(() => ({ kind: 'wait', sentence: 'insufficient funds' }));
    await rig.pass(3);
    const asked = rig.asked('broadcastAll');
    for (let head = 0; head < 16; head += 1) {
      await rig.pass(1);
      await rig.see(200);
    }
    const sent = rig.asked('broadcastAll') - asked;
    assert.ok(sent >= 1 && sent <= 5, `${sent} rebroadcasts at 16 heads`);
    assert.equal(rig.lane().warnings.length, 1);
    rig.chain.setRefusal(null);
    await rig.pass(40, 9);
    assert.equal(rig.chain.accountNonce(), 3n);
  });

  it('a gap: its self-transfer outbids what was signed for the nonce before, as its next version', async (test) => {
    const rig = await startLaneRig(test, { network: { requiredConfirmations: 3 } });
    const before = rig.chain.blocks.length;
    const id = await rig.send();
    rig.chain.useKey('pool');
    await rig.pass(8, 9);
    const [displaced, moved] = await rig.attempts(id);
    assert.deepEqual([displaced?.nonce, moved?.nonce], [0n, 1n]);
    rig.chain.takeBack(rig.chain.blocks.length - before, () => false);
    rig.chain.forget(() => false);
    await rig.pass(12);
    const { chain } = await rig.transaction(id);
    const { versions } = await rig.store.read.slot({ chain, account: '0xr1' }, 0n);
    const [first, filler] = versions.toSorted((a, b) => a.version - b.version);
    assert.ok(first !== undefined && filler !== undefined);
    assert.deepEqual([first.transactionId, first.version, filler.version], [id, 1, 2]);
    assert.notEqual(filler.transactionId, id);
    const [least, bid] = [first, filler].map((attempt) => bidOf(evmFieldsOf(attempt).price).maxFeePerGasWei);
    assert.ok((bid ?? 0n) * 10n >= (least ?? 0n) * 11n, `${bid} wei do not outbid ${least}`);
  });

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
