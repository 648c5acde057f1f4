import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { measureReadiness } from '../../src/app/shown-state.js';
import { healthWithoutFile } from '../../src/core/work/log.js';
import { startAnvil } from '../support/anvil.js';
import { type EngineRig, startEvmRig, startSolanaRig, startStellarRig } from '../support/engine-rig.js';
import { solanaKey, transferInstruction } from '../support/solana.js';
import { payment } from '../support/stellar.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

const sentence = /^waiting: the network [\w-]+ shows no new block since \d{4}-\d\d-\d\dT[\d:.]+Z$/;

/** Checks what is shown while a network stands still and after it has moved. `sent`: a transaction that a node has, and that no block contains. */
async function checkStillness(rig: EngineRig, sent: string): Promise<void> {
  const reasonOf = async () => (await rig.view(sent)).transaction.statusReason ?? '';
  await rig.until(sent, 'submitted');
  const [network] = rig.engine.networks();
  assert.equal(network?.stillSinceMs, null);
  const usual = await reasonOf();
  rig.clock.moveOn(61_000);
  await waitFor('the record to say that the network stands still', async () => (sentence.test(await reasonOf()) ? true : undefined));
  const name = rig.relayer.network.name;
  const [still] = rig.engine.networks();
  assert.ok(still?.stillSinceMs != null);
  const instance = { ownHold: () => null, clockDifference: () => null, auditHealth: healthWithoutFile };
  const { ready, networks } = await measureReadiness(rig.engine, { checkWorking: async () => undefined }, instance);
  assert.equal(ready, true);
  assert.match(networks[name] ?? '', /^no new block since /);
  assert.ok((await reasonOf()).includes(name) && !sentence.test(usual));
  await rig.untilWithBlocks(sent, 'confirmed');
  assert.equal(rig.engine.networks()[0]?.stillSinceMs, null);
}

async function started<T extends EngineRig>(test: TestContext, starting: Promise<T>): Promise<T> {
  const rig = await starting;
  test.after(() => rig.stop());
  return rig;
}

it('a network that stands still is named: on Solana, in the record that waits and in the readiness', async (test) => {
  const rig = await started(test, startSolanaRig({ folder: await temporaryFolder() }));
  const { transaction } = await rig.send({ instructions: [transferInstruction(rig.key.address, solanaKey().address, 5_000_000n)] });
  await checkStillness(rig, transaction.id);
});

it('a network that stands still is named: on EVM, in the record that waits and in the readiness', async (test) => {
  const anvil = await startAnvil({ noMining: true });
  test.after(() => anvil.stop());
  const rig = await started(test, startEvmRig(anvil, { folder: await temporaryFolder() }));
  await checkStillness(rig, (await rig.send()).transaction.id);
});

it('a network that stands still is named: on Stellar, in the record that waits and in the readiness', async (test) => {
  const rig = await started(test, startStellarRig({ folder: await temporaryFolder() }));
  await checkStillness(rig, (await rig.send({ operations: [payment(rig.key.address, 5_000_000n)] })).transaction.id);
});
