import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { cancelTransaction } from '../../src/core/transaction/cancel-transaction.js';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { setBalance, startEvmRig } from '../support/engine-rig.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

const ether = 10n ** 18n;

let anvil: Anvil;
before(async () => {
  anvil = await startAnvil();
});
after(() => anvil?.stop());

it('low balance: sends wait and one event is stored until the balance was sufficient in between', async (test) => {
  const rig = await startEvmRig(anvil, { folder: await temporaryFolder(), policies: { minBalanceWei: ether }, fundsWei: ether / 2n });
  test.after(() => rig.stop());
  const first = (await rig.send()).transaction.id;
  const second = (await rig.send()).transaction.id;
  await waitFor('both to wait', async () => {
    const views = await Promise.all([first, second].map((id) => rig.view(id)));
    return views.every(({ transaction }) => transaction.statusReason?.includes('insufficient balance')) ? true : undefined;
  });
  await waitFor('the event', () => (rig.toldStates.length > 0 ? true : undefined));
  assert.deepEqual(rig.toldStates, ['relayer_low_balance']);
  // The balance is read again at every block.
  await anvil.mine(2);
  rig.clock.moveOn(60_000);
  assert.deepEqual(rig.toldStates, ['relayer_low_balance']);

  await setBalance(anvil, rig.relayer.address, 2n * ether);
  for (const id of [first, second]) await rig.until(id, 'confirmed');
  assert.deepEqual(rig.toldStates, ['relayer_low_balance']);

  await setBalance(anvil, rig.relayer.address, ether / 2n);
  await anvil.mine();
  const third = (await rig.send()).transaction.id;
  await waitFor('a second event', () => (rig.toldStates.length === 2 ? true : undefined));
  assert.equal((await rig.view(third)).transaction.status, 'pending');
});

it('waiting transactions: a lane takes the maximum and refuses the next one until one is canceled', async (test) => {
  const rig = await startEvmRig(anvil, { folder: await temporaryFolder(), fundsWei: 0n });
  test.after(() => rig.stop());
  const { transaction } = await rig.send();
  for (let number = 1; number < 10_000; number += 1) rig.engine.accept({ ...transaction, id: `${transaction.id}-${number}` });
  await assert.rejects(rig.send(), { kind: 'rate_limited', reason: 'TOO_MANY_TRANSACTIONS' });
  await cancelTransaction(rig.deps, rig.relayer, transaction.id);
  await rig.send();
});
