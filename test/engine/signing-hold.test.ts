import assert from 'node:assert/strict';
import { it } from 'node:test';
import { SigningHeldError } from '../../src/core/ports/database-state.js';
import { cancelTransaction } from '../../src/core/transaction/cancel-transaction.js';
import { startAnvil } from '../support/anvil.js';
import { startEvmRig, untilReason } from '../support/engine-rig.js';
import { temporaryFolder } from '../support/temporary-folder.js';

it('during a hold, neither the lane nor a call asks the key for a signature, and signing goes on after it', async (test) => {
  const anvil = await startAnvil({ noMining: true });
  test.after(() => anvil.stop());
  let signatures = 0;
  const rig = await startEvmRig(anvil, {
    folder: await temporaryFolder(),
    changedSigner: (signer) => ({
      ...signer,
      signDigest(digest) {
        signatures += 1;
        return signer.signDigest(digest);
      },
    }),
  });
  test.after(() => rig.stop());
  const first = (await rig.send()).transaction.id;
  await rig.until(first, 'submitted');
  assert.equal(signatures, 1);
  rig.setHold('no audit log');
  const second = (await rig.send()).transaction.id;
  const canceled = await cancelTransaction(rig.deps, rig.relayer, first).catch((error: unknown) => error);
  assert.ok(canceled instanceof SigningHeldError, String(canceled));
  assert.equal(canceled.message, 'nothing is signed now: no audit log');
  // A head that a lane without the hold would sign at.
  await anvil.mine();
  await rig.untilWithBlocks(first, 'confirmed');
  await untilReason(rig, second, 'waiting: queued for signing: no audit log');
  assert.equal(signatures, 1);
  rig.setHold(null);
  await rig.untilWithBlocks(second, 'confirmed');
  assert.equal(signatures, 2);
});

it('what a lane has in memory is kept outside the database once after a rewind, and never during a hold that loses nothing', async (test) => {
  const anvil = await startAnvil({ noMining: true });
  test.after(() => anvil.stop());
  const rig = await startEvmRig(anvil, { folder: await temporaryFolder() });
  test.after(() => rig.stop());
  const { id } = (await rig.send()).transaction;
  await rig.until(id, 'submitted');
  for (const reason of ['no audit log', null, 'no audit log', 'the clock is wrong']) {
    rig.setHold(reason);
    rig.engine.storeReturned();
  }
  assert.deepEqual(rig.kept, []);
  rig.setRewound();
  for (let times = 0; times < 3; times += 1) rig.engine.storeReturned();
  const [attempt] = await rig.attempts(id);
  assert.deepEqual(rig.kept, [{ relayer: 'r1', transaction: id, nonce: '0', hashes: [attempt?.hash] }]);
});
