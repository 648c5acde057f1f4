import assert from 'node:assert/strict';
import { it } from 'node:test';
import { cancelTransaction } from '../../src/core/transaction/cancel-transaction.js';
import { startAnvil } from '../support/anvil.js';
import { startEvmRig } from '../support/engine-rig.js';
import { temporaryFolder } from '../support/temporary-folder.js';

it('paused relayer: signs nothing new, cancels what is signed, and signs what waits when it is resumed', async (test) => {
  const anvil = await startAnvil({ noMining: true });
  const rig = await startEvmRig(anvil, { folder: await temporaryFolder() });
  test.after(async () => {
    await rig.stop();
    await anvil.stop();
  });
  const pause = (paused: boolean) => {
    const { directory, relayer, chain } = rig;
    directory.put({ relayer: { ...relayer, paused }, chain, signer: directory.signerOf(relayer) });
  };
  const { id: out } = (await rig.send()).transaction;
  await rig.until(out, 'submitted');
  pause(true);
  const { id: waiting } = (await rig.send()).transaction;
  await cancelTransaction(rig.deps, rig.relayer, out);
  await rig.untilWithBlocks(out, 'canceled');
  assert.equal((await rig.view(waiting)).transaction.status, 'pending');
  assert.match((await rig.view(waiting)).transaction.statusReason ?? '', /the relayer is paused/);
  assert.equal((await rig.attempts(waiting)).length, 0);
  pause(false);
  await rig.untilWithBlocks(waiting, 'confirmed');
});
