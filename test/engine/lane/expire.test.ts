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

it('expired transactions that share an obstacle change their records once, also if its amounts change at each head', async (test) => {
  const rig = await startLaneRig(test);
  const { deps } = rig.lane();
  const validUntilMs = deps.clock.nowMs() + 60_000;
  const ids: string[] = [];
  for (let number = 0; number < 12; number += 1)
    ids.push((await sendTransaction(deps, relayer, wanted({ valueWei: BigInt(number) }, validUntilMs))).transaction.id);
  await rig.see();
  rig.chain.setFunds(0n);
  await rig.see(60_000);
  await rig.pass(1);
  const revisions = async () => Promise.all(ids.map(async (id) => (await rig.transaction(id)).revision));
  const before = await revisions();
  for (let head = 1; head <= 10; head += 1) {
    rig.chain.setFunds(BigInt(head));
    await rig.pass(1);
  }
  const changes = (await revisions()).map((revision, index) => revision - (before[index] ?? 0));
  // The first one is tried at each head, and its record shows the newest amounts.
  assert.ok(changes.filter((count) => count > 1).length <= 1, `changes of the records at 10 heads: ${changes.join(', ')}`);
  for (const id of ids) assert.match((await rig.transaction(id)).statusReason ?? '', /^waiting: valid_until has passed; ends when /);
});

it('unsigned transactions whose valid_until has passed end many at a time, since nothing settles before they have', async (test) => {
  let inFlight = 0;
  let most = 0;
  const rig = await startLaneRig(test, {
    refuses: () => {
      inFlight += 1;
      most = Math.max(most, inFlight);
      return false;
    },
    losesAnswer: () => {
      inFlight -= 1;
      return false;
    },
  });
  rig.chain.setFunds(0n);
  const { deps } = rig.lane();
  const validUntilMs = deps.clock.nowMs() + 60_000;
  for (let number = 0; number < 120; number += 1) await sendTransaction(deps, relayer, wanted({ valueWei: BigInt(number) }, validUntilMs));
  await rig.see();
  most = 0;
  await rig.see(60_000);
  const { items, total } = await rig.store.read.transactionsOf('r1', ['expired'], { offset: 0, limit: 100 });
  assert.deepEqual([items.length, total], [100, 120]);
  assert.ok(most >= 40 && most <= 100, `${most} commits at once`);
});
