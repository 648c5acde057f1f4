import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { endWaiting } from '../../src/core/transaction/end-waiting.js';
import { replaceTransaction } from '../../src/core/transaction/replace-transaction.js';
import { openStore } from '../../src/storage/open-store.js';
import { startAnvil } from '../support/anvil.js';
import { startEvmRig } from '../support/engine-rig.js';
import { wanted } from '../support/evm.js';
import { silentLog } from '../support/stored-samples.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

/** Opens the database of a folder as `relayer restore` does. */
async function restoreIn(folder: string): Promise<void> {
  const { store } = await openStore(`sqlite:${join(folder, 'relayer.db')}`, { log: silentLog });
  await endWaiting(store, Date.now());
  await store.close();
}

it('restore: a payment whose slot an attempt used that the backup lacks fails, and is not paid a second time', async (test) => {
  const anvil = await startAnvil({ noMining: true });
  test.after(() => anvil.stop());
  const [folder, backup] = [await temporaryFolder(), await temporaryFolder()];
  const privateKey = randomBytes(32);
  const to = `0x${randomBytes(20).toString('hex')}`;
  const paid = async () => BigInt(String(await anvil.rpc('eth_getBalance', [to, 'latest'])));

  const original = await startEvmRig(anvil, { folder, privateKey });
  const { transaction } = await original.send({ to, valueWei: 5n });
  await original.until(transaction.id, 'submitted');
  await original.stop();
  // The backup is of this moment; the original goes on with a replacement, which is mined.
  await copyFile(join(folder, 'relayer.db'), join(backup, 'relayer.db'));
  const later = await startEvmRig(anvil, { folder, privateKey });
  const { shown } = await replaceTransaction(later.deps, later.relayer, transaction.id, wanted({ to, valueWei: 5n, data: '0x01' }));
  await waitFor('the replacement in the pool', async () => (await anvil.rpc('eth_getTransactionByHash', [shown?.hash])) ?? undefined);
  await anvil.mine();
  await later.until(transaction.id, 'confirmed');
  await later.stop();
  assert.equal(await paid(), 5n);

  await restoreIn(backup);
  const restored = await startEvmRig(anvil, { folder: backup, privateKey });
  test.after(() => restored.stop());
  const { transaction: ended } = await restored.untilWithBlocks(transaction.id, 'failed');
  assert.equal(ended.failureReason, 'displaced');
  assert.match(
    ended.statusReason ?? '',
    /^nonce 0 was used by the foreign transaction 0x[0-9a-f]{64}, which may be an attempt that the restored backup lacks/,
  );
  assert.equal(await paid(), 5n);
});

it('restore: a payment whose attempt in the backup is mined is confirmed', async (test) => {
  const anvil = await startAnvil({ noMining: true });
  test.after(() => anvil.stop());
  const folder = await temporaryFolder();
  const privateKey = randomBytes(32);
  const before = await startEvmRig(anvil, { folder, privateKey });
  const { transaction } = await before.send();
  await before.until(transaction.id, 'submitted');
  await before.stop();
  await restoreIn(folder);
  const after = await startEvmRig(anvil, { folder, privateKey });
  test.after(() => after.stop());
  assert.equal(
    (await after.view(transaction.id)).transaction.statusReason,
    'restored from a backup: it fails if a transaction that the backup lacks used its nonce',
  );
  await anvil.mine();
  const { transaction: ended } = await after.untilWithBlocks(transaction.id, 'confirmed');
  assert.deepEqual([ended.failureReason, ended.statusReason], [null, null]);
});
