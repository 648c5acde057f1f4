import assert from 'node:assert/strict';
import { it } from 'node:test';
import { sendTransaction } from '../../../src/core/transaction/send-transaction.js';
import { wanted } from '../../support/evm.js';
import { startLaneRig } from '../../support/lane-rig.js';
import { modelRelayer } from '../../support/model-lane.js';
import { waitFor } from '../../support/wait-for.js';

it('a transaction that another instance changes while it is signed does not delay those that are signed with it', async (test) => {
  const rig = await startLaneRig(test);
  const relayer = modelRelayer('r1', { requiredConfirmations: 3 });
  const { deps } = rig.lane();
  await rig.see();
  const [, first, changed] = await Promise.all([1n, 2n, 3n].map((valueWei) => sendTransaction(deps, relayer, wanted({ valueWei }))));
  assert.ok(first !== undefined && changed !== undefined);
  // The lane drafts the one that came first alone.
  await waitFor('both to be drafted at once', () => {
    const { travelling } = rig.chain;
    if (travelling.filter(({ name }) => name === 'draft').length === 2) return true;
    for (const one of [...travelling]) one.letGo('answered');
    return undefined;
  });
  const { store } = rig;
  await store.commit([store.change.updateTransaction({ ...changed.transaction, statusReason: 'changed elsewhere', revision: 2 })]);
  // The clock stands still: a task that failed would not run again.
  await rig.lane().flow();
  const [attempt] = await rig.attempts(first.transaction.id);
  assert.equal(attempt?.nonce, 1n);
  await rig.pass(5, 9);
  assert.equal((await rig.transaction(changed.transaction.id)).status, 'confirmed');
});
