import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sendTransaction } from '../../../src/core/transaction/send-transaction.js';
import { wanted } from '../../support/evm.js';
import { startLaneRig } from '../../support/lane-rig.js';
import { modelRelayer } from '../../support/model-lane.js';

describe('rebroadcasts of what a node shows in its pool', () => {
  it('it is sent again after some heads that do not mine it, less and less often', async (test) => {
    const rig = await startLaneRig(test, {});
    const relayer = modelRelayer('r1', { requiredConfirmations: 3 });
    const { transaction } = await sendTransaction(rig.lane().deps, relayer, wanted());
    await rig.see();
    const [attempt] = await rig.attempts(transaction.id);
    const sent = () => rig.chain.offers.get(attempt?.hash ?? '') ?? 0;
    assert.equal(sent(), 1);
    const sentAtHeads: number[] = [];
    for (let head = 1; head <= 60; head += 1) {
      const before = sent();
      await rig.pass(1, 0);
      if (sent() > before) sentAtHeads.push(head);
    }
    assert.deepEqual(sentAtHeads.length >= 2 && sentAtHeads.length <= 4, true, String(sentAtHeads));
    const [first = 0, second = 0, third = 0] = sentAtHeads;
    assert.ok(first >= 8 && first <= 11 && second - first >= 15 && third - second >= 15, String(sentAtHeads));
    await rig.pass(6, 9);
    assert.equal((await rig.transaction(transaction.id)).status, 'confirmed');
  });
});
