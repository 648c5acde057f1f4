import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { type EngineRig, startEvmRig, startSolanaRig, startStellarRig, untilReason } from '../support/engine-rig.js';
import { solanaKey, transferInstruction } from '../support/solana.js';
import { payment, stellarKey } from '../support/stellar.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

const unreachable = 'waiting: queued for signing: no RPC node is reachable; retrying';
const accepted = 'waiting: an RPC node has accepted it; not mined yet';

/** Checks what two transactions say that wait behind others, and that they and a new one say so when no node is reachable. */
async function checkQueue(rig: EngineRig, send: () => Promise<string>, behind: string, stopNode: () => Promise<unknown>): Promise<void> {
  const queued = [await send(), await send()];
  for (const id of queued) await untilReason(rig, id, behind);
  const next = await send();
  assert.equal((await rig.view(next)).transaction.statusReason, behind, 'a new one says so at once');
  await stopNode();
  for (const id of [...queued, next]) await untilReason(rig, id, unreachable);
  const last = await rig.view(await send());
  assert.deepEqual([last.transaction.status, last.transaction.statusReason, last.transaction.revision], ['pending', unreachable, 1]);
}

describe('status_reason of transactions that wait', () => {
  it('EVM: behind max_in_flight others, submitted, and without a node', async (test) => {
    const anvil: Anvil = await startAnvil({ noMining: true });
    test.after(() => anvil.stop());
    const rig = await startEvmRig(anvil, { folder: await temporaryFolder(), policies: { maxInFlight: 2 } });
    test.after(() => rig.stop());
    const send = async () => (await rig.send()).transaction.id;
    for (const id of [await send(), await send()]) {
      await rig.until(id, 'submitted');
      await untilReason(rig, id, accepted);
    }
    const behind =
      'waiting: queued for signing: 2 earlier transactions are in flight, as max_in_flight allows; will send when one is mined';
    await checkQueue(rig, send, behind, () => anvil.stop());
  });

  it('Stellar: behind an earlier transaction, submitted, and without a node', async (test) => {
    const receiver = stellarKey().address;
    const rig = await startStellarRig({ folder: await temporaryFolder(), accounts: { [receiver]: 100_000_000n } });
    test.after(() => rig.stop());
    const send = async () => (await rig.send({ operations: [payment(receiver, 1n)] })).transaction.id;
    const first = await send();
    await rig.until(first, 'submitted');
    await untilReason(rig, first, accepted);
    const behind = 'waiting: queued for signing: an earlier transaction of the account is not mined yet; will send after it';
    await checkQueue(rig, send, behind, () => rig.node.stop());
  });

  it('Solana: submitted, and without a node', async (test) => {
    const rig = await startSolanaRig({ folder: await temporaryFolder() });
    test.after(() => rig.stop());
    const send = async () =>
      (await rig.send({ instructions: [transferInstruction(rig.key.address, solanaKey().address, 5_000_000n)] })).transaction.id;
    const first = await send();
    await rig.until(first, 'submitted');
    await untilReason(rig, first, accepted);
    await rig.solana.stop();
    await waitFor('the engine to know', () => (rig.engine.networks()[0]?.problem == null ? undefined : true));
    const last = await rig.view(await send());
    assert.deepEqual([last.transaction.status, last.transaction.statusReason, last.transaction.revision], ['pending', unreachable, 1]);
  });

  it('EVM: mined but not final, and nothing is left to say when it is confirmed', async (test) => {
    const anvil: Anvil = await startAnvil({ noMining: true });
    test.after(() => anvil.stop());
    const rig = await startEvmRig(anvil, { folder: await temporaryFolder(), network: { requiredConfirmations: 3 } });
    test.after(() => rig.stop());
    const { id } = (await rig.send()).transaction;
    await rig.until(id, 'submitted');
    await anvil.mine();
    await rig.until(id, 'mined');
    await untilReason(rig, id, 'waiting: mined; not final until it has the required confirmations');
    assert.equal((await rig.untilWithBlocks(id, 'confirmed')).transaction.statusReason, null);
  });
});
