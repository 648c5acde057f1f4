import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { laneOf } from '../../src/core/records/relayer.js';
import { newTransaction } from '../../src/core/transaction/send-transaction.js';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { startEvmRig } from '../support/engine-rig.js';
import { evmContent } from '../support/evm.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

let anvil: Anvil;
before(async () => {
  anvil = await startAnvil();
});
after(() => anvil.stop());

it('a lane that was never opened sends what an earlier owner stored last, once the database is back', async (test) => {
  const rig = await startEvmRig(anvil, { folder: await temporaryFolder() });
  test.after(() => rig.stop());
  const { deps, relayer, engine } = rig;
  assert.deepEqual(
    [...engine.lanes()].map(({ relayerId }) => relayerId),
    [relayer.id],
  );
  const stored = newTransaction(deps, relayer, {
    content: evmContent(),
    statusReason: 'waiting: queued for signing',
    validUntilMs: null,
    traceParent: null,
    tags: null,
    approval: null,
  });
  await deps.store.commit([deps.store.change.insertTransaction(stored)]);
  assert.equal((await deps.store.read.openTransactions(laneOf(relayer))).length, 1);
  engine.storeReturned();
  await waitFor('the transaction to be confirmed', async () =>
    (await rig.view(stored.id)).transaction.status === 'confirmed' ? true : undefined,
  );
});
