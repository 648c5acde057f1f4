import assert from 'node:assert/strict';
import { it } from 'node:test';
import { maxCostPerGasWei } from '../../../src/core/fees/price.js';
import { sendTransaction } from '../../../src/core/transaction/send-transaction.js';
import { evmFieldsOf, wanted } from '../../support/evm.js';
import { startLaneRig } from '../../support/lane-rig.js';
import { modelRelayer } from '../../support/model-lane.js';
import { waitFor } from '../../support/wait-for.js';

it('a slow draft is not signed when the market has changed since', async (test) => {
  const policies = { maxInFlight: 1 };
  const rig = await startLaneRig(test, { policies });
  const relayer = modelRelayer('r1', { requiredConfirmations: 3 }, policies);
  rig.chain.setBaseFee(1_000n);
  await rig.see();
  const { deps } = rig.lane();
  const slow = (await sendTransaction(deps, relayer, wanted({ valueWei: 1n }))).transaction.id;
  await rig.lane().rest();
  const [question] = rig.chain.travelling;
  assert.equal(question?.name, 'draft');
  question.letGo('answered');
  const [held] = rig.chain.travelling;
  const next = (await sendTransaction(deps, relayer, wanted({ valueWei: 2n }))).transaction.id;
  await waitFor('the next one to be submitted', async () => {
    for (const one of [...rig.chain.travelling]) if (one !== held) one.letGo('answered');
    return (await rig.transaction(next)).status === 'submitted' ? true : undefined;
  });
  held?.letGo('answered');
  await rig.pass(5);
  rig.chain.setBaseFee(10n);
  await rig.pass(5);
  await rig.pass(2, 9);
  const [attempt] = await rig.attempts(slow);
  assert.ok(attempt !== undefined);
  assert.ok(maxCostPerGasWei(evmFieldsOf(attempt).price) <= 100n, `bid ${maxCostPerGasWei(evmFieldsOf(attempt).price)} wei per gas`);
});
