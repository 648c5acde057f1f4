import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sendTransaction } from '../../../src/core/transaction/send-transaction.js';
import { wanted } from '../../support/evm.js';
import { startLaneRig } from '../../support/lane-rig.js';
import { dependentData, puzzlingData } from '../../support/model-chain.js';
import { modelRelayer } from '../../support/model-lane.js';

const relayer = modelRelayer('r1', { requiredConfirmations: 3 });

describe('the verdict that a transaction can never run', () => {
  it('the verdict that a transaction can never run: is not taken from an estimate older than the block that mined what it depends on', async (test) => {
    const rig = await startLaneRig(test);
    await rig.send({ valueWei: 1n });
    const lane = rig.lane();
    const dependent = (await sendTransaction(lane.deps, relayer, wanted({ valueWei: 2n, data: dependentData }))).transaction.id;
    await lane.rest();
    // The node estimates before the block, and its answer arrives after the lane has seen the block.
    const [question] = rig.chain.travelling.filter(({ name }) => name === 'draft');
    assert.ok(question !== undefined);
    question.letGo('answered');
    const [answer] = rig.chain.travelling.filter(({ name, isAnswer }) => name === 'draft' && isAnswer);
    assert.ok(answer !== undefined);
    rig.chain.mine();
    lane.look();
    for (let rounds = 0; rounds < 200; rounds += 1) {
      await lane.rest();
      const next = rig.chain.travelling.find((one) => one !== answer);
      if (next === undefined) break;
      next.letGo('answered');
    }
    answer.letGo('answered');
    await lane.flow();
    await rig.pass(6, 9);
    const { status, statusReason } = await rig.transaction(dependent);
    assert.deepEqual([status, statusReason], ['confirmed', null]);
  });

  it('the verdict that a transaction can never run: is not taken while an earlier transaction is not signed yet', async (test) => {
    const rig = await startLaneRig(test);
    const { deps } = rig.lane();
    // Both wait for the first head, as after a restart or an outage, so that one round drafts both.
    await sendTransaction(deps, relayer, wanted({ valueWei: 1n }));
    const dependent = (await sendTransaction(deps, relayer, wanted({ valueWei: 2n, data: dependentData }))).transaction.id;
    await rig.see();
    await rig.pass(6, 9);
    const { status, statusReason } = await rig.transaction(dependent);
    assert.deepEqual([status, statusReason], ['confirmed', null]);
  });

  it('the verdict that a transaction can never run: is not taken while an earlier transaction waits for a lower price', async (test) => {
    const rig = await startLaneRig(test, { policies: { gasPriceCapWei: 150n } });
    rig.chain.setBaseFee(200n);
    await rig.pass(1);
    await rig.send({ valueWei: 1n });
    const dependent = await rig.send({ valueWei: 2n, data: dependentData });
    await rig.pass(6);
    assert.equal((await rig.transaction(dependent)).status, 'pending');
    rig.chain.setBaseFee(100n);
    await rig.pass(10, 9);
    assert.equal((await rig.transaction(dependent)).status, 'confirmed');
  });

  it('the verdict that a transaction can never run: is not taken from unknown words at separate heads between which nodes could estimate it', async (test) => {
    const rig = await startLaneRig(test);
    rig.chain.setPuzzled(false);
    // Enough for one transaction, but not for two.
    rig.chain.setFunds(21_000n * 230n + 10n);
    await rig.send({ valueWei: 1n });
    const id = await rig.send({ valueWei: 2n, data: puzzlingData });
    await rig.pass(3);
    assert.match((await rig.transaction(id)).statusReason ?? '', /insufficient balance/);
    for (let flakes = 0; flakes < 6; flakes += 1) {
      rig.chain.setPuzzled(true);
      await rig.pass(1);
      rig.chain.setPuzzled(false);
      await rig.pass(2, 0, 30_000);
    }
    assert.equal((await rig.transaction(id)).status, 'pending');
  });
});
