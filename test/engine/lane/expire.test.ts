import assert from 'node:assert/strict';
import { it } from 'node:test';
import { sendTransaction } from '../../../src/core/transaction/send-transaction.js';
import { wanted } from '../../support/evm.js';
import { startLaneRig } from '../../support/lane-rig.js';
import { modelRelayer } from '../../support/model-lane.js';

const relayer = modelRelayer('r1', { requiredConfirmations: 3 });

it('expired transactions that the account cannot replace are looked at once per head, and logged once', async (test) => {
  const rig = await startLaneRig(test);
  const { deps } = rig.lane();
  const validUntilMs = deps.clock.nowMs() + 60_000;
  for (let number = 0; number < 12; number += 1) await sendTransaction(deps, relayer, wanted({ valueWei: BigInt(number) }, validUntilMs));
  await rig.see();
  rig.chain.setFunds(0n);
  await rig.see(60_000);
  const asked = rig.asked('draft');
  for (let head = 0; head < 5; head += 1) {
    await rig.pass(1);
    for (let look = 0; look < 10; look += 1) await rig.see(200);
  }
  assert.ok(rig.asked('draft') - asked <= 5, `${rig.asked('draft') - asked} drafts at 5 heads`);
  assert.equal(rig.lane().warnings.filter((line) => /expired/.test(line)).length, 1);
  rig.chain.setFunds(10n ** 20n);
  await rig.pass(20, 20);
  const { items } = await rig.store.read.transactionsOf('r1', [], { offset: 0, limit: 100 });
  assert.deepEqual([...new Set(items.map(({ transaction }) => transaction.status))], ['expired']);
});
