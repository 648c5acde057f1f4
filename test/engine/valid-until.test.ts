import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { DomainError } from '../../src/core/errors/errors.js';
import type { ContentRequest } from '../../src/core/ports/chain/requests.js';
import { cancelTransaction } from '../../src/core/transaction/cancel-transaction.js';
import { replaceTransaction } from '../../src/core/transaction/replace-transaction.js';
import { sendTransaction } from '../../src/core/transaction/send-transaction.js';
import { startAnvil } from '../support/anvil.js';
import { type EngineRig, startEvmRig, startSolanaRig, startStellarRig, untilReason } from '../support/engine-rig.js';
import { wanted } from '../support/evm.js';
import { solanaKey, solanaRequest, transferInstruction } from '../support/solana.js';
import { payment, stellarKey, stellarRequest } from '../support/stellar.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

/** A relayer on one network, whose node can go away for good. */
interface Rig {
  readonly rig: EngineRig;
  request(amount: bigint, validUntilMs?: number): ContentRequest;
  loseNode(): Promise<void>;
}

async function startEvm(test: TestContext): Promise<Rig> {
  const anvil = await startAnvil({ noMining: true });
  test.after(() => anvil.stop());
  const rig = await startEvmRig(anvil, { folder: await temporaryFolder() });
  test.after(() => rig.stop());
  return { rig, request: (amount, validUntilMs) => wanted({ valueWei: amount, data: '0x01' }, validUntilMs), loseNode: () => anvil.stop() };
}

async function startStellar(test: TestContext): Promise<Rig> {
  const receiver = stellarKey().address;
  const rig = await startStellarRig({ folder: await temporaryFolder(), accounts: { [receiver]: 100_000_000n } });
  test.after(() => rig.stop());
  const request = (amount: bigint, validUntilMs?: number) => stellarRequest({ operations: [payment(receiver, amount)], validUntilMs });
  return { rig, request, loseNode: () => rig.node.stop() };
}

async function startSolana(test: TestContext): Promise<Rig> {
  const rig = await startSolanaRig({ folder: await temporaryFolder() });
  test.after(() => rig.stop());
  const receiver = solanaKey().address;
  const request = (amount: bigint, validUntilMs?: number) =>
    solanaRequest({ instructions: [transferInstruction(rig.key.address, receiver, 5_000_000n + amount)], validUntilMs });
  return { rig, request, loseNode: () => rig.solana.stop() };
}

const networks = [
  ['EVM', startEvm],
  ['Stellar', startStellar],
  ['Solana', startSolana],
] as const;

const hourMs = 3_600_000;
const clockReason = 'waiting: valid_until has passed; ends when two of the clocks of the service, the database and the network show it';
const nodeReason = 'waiting: valid_until has passed; ends when an RPC node is reachable';

async function send({ rig, request }: Rig, amount: bigint, validUntilMs?: number): Promise<string> {
  return (await sendTransaction(rig.deps, rig.relayer, request(amount, validUntilMs))).transaction.id;
}

async function refusalOf(doing: Promise<unknown>): Promise<string> {
  const error = await doing.then(
    () => assert.fail('it was accepted'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof DomainError, String(error));
  return `${error.kind} ${error.reason}: ${error.message}`;
}

async function untilNodeIsLost({ rig, loseNode }: Rig): Promise<void> {
  await loseNode();
  await waitFor('the engine to know', () => (rig.engine.networks()[0]?.problem == null ? undefined : true));
}

/** A replacement is refused once valid_until has passed, unless it sets a later one. */
async function requireRenewal(started: Rig, id: string, untilMs: number): Promise<void> {
  const { rig, request } = started;
  const before = await rig.view(id);
  const put = (amount: bigint, validUntilMs?: number, expectedRevision?: bigint) =>
    replaceTransaction(rig.deps, rig.relayer, id, request(amount, validUntilMs), { expectedRevision: expectedRevision ?? null });
  const passed = `precondition TRANSACTION_EXPIRED: valid_until of the transaction has passed (${new Date(untilMs).toISOString()}); set a later valid_until to replace it`;
  assert.equal(await refusalOf(put(21n)), passed);
  // What would fail without an expected revision fails with its own error.
  assert.equal(await refusalOf(put(21n, undefined, 999n)), passed);
  assert.equal(await refusalOf(put(21n, untilMs)), 'invalid FIELD_INVALID: valid_until must not be in the past');
  assert.deepEqual((await rig.attempts(id)).length, before.transaction.liveVersion ?? 0);
  const laterMs = rig.clock.nowMs() + hourMs;
  const { transaction } = await put(22n, laterMs);
  assert.deepEqual([transaction.validUntilMs, transaction.intent], [laterMs, 'content']);
}

for (const [name, start] of networks) {
  describe(`valid_until on ${name}`, { concurrency: 3 }, () => {
    it(`${name}: a replacement in place is refused once valid_until has passed, unless it sets a later one`, async (test) => {
      const started = await start(test);
      const { rig } = started;
      await untilNodeIsLost(started);
      const untilMs = rig.clock.nowMs() + hourMs;
      const id = await send(started, 1n, untilMs);
      rig.setDatabaseBehind(2 * hourMs);
      rig.clock.moveOn(hourMs + 2_000);
      await untilReason(rig, id, clockReason);
      await requireRenewal(started, id, untilMs);
      assert.equal((await rig.view(id)).transaction.status, 'pending');
      await untilReason(rig, id, 'waiting: queued for signing: no RPC node is reachable; retrying');
    });

    it(`${name}: a replacement of a signed transaction is refused once valid_until has passed, unless it sets a later one`, async (test) => {
      const started = await start(test);
      const { rig } = started;
      const untilMs = rig.clock.nowMs() + hourMs;
      const id = await send(started, 1n, untilMs);
      await rig.until(id, 'submitted');
      rig.setDatabaseBehind(2 * hourMs);
      rig.clock.moveOn(hourMs + 2_000);
      await untilReason(rig, id, clockReason);
      await requireRenewal(started, id, untilMs);
      if (name === 'Solana') assert.notEqual((await rig.view(id)).transaction.queued, null);
      else assert.equal((await rig.attempts(id)).length, 2);
    });

    it(`${name}: unsigned content ends without a node once two clocks agree; a signed one waits for the node`, async (test) => {
      const started = await start(test);
      const { rig } = started;
      const untilMs = rig.clock.nowMs() + hourMs;
      const signed = await send(started, 1n, untilMs);
      await rig.until(signed, 'submitted');
      await untilNodeIsLost(started);
      const unsigned = await send(started, 2n, untilMs);
      const unlimited = await send(started, 3n, untilMs + hourMs);
      rig.setDatabaseBehind(2 * hourMs);
      rig.clock.moveOn(hourMs + 2_000);
      await untilReason(rig, unsigned, clockReason);
      await untilReason(rig, signed, nodeReason);
      rig.setDatabaseBehind(0);
      const { transaction } = await rig.until(unsigned, 'expired');
      assert.deepEqual([transaction.statusReason, transaction.nonce], ['valid_until passed', null]);
      assert.deepEqual(await rig.attempts(unsigned), []);
      assert.equal((await rig.view(signed)).transaction.status, 'submitted');
      assert.equal((await rig.view(unlimited)).transaction.status, 'pending');
      await cancelTransaction(rig.deps, rig.relayer, unlimited);
    });
  });
}

describe('valid_until and wrong clocks', () => {
  it('the clock of this process alone ends nothing and sends nothing, and the clock of the network confirms it', async (test) => {
    const anvil = await startAnvil({ noMining: true });
    test.after(() => anvil.stop());
    const rig = await startEvmRig(anvil, { folder: await temporaryFolder() });
    test.after(() => rig.stop());
    rig.setDatabaseBehind(2 * hourMs);
    const { transaction } = await rig.send({ valueWei: 1n }, rig.clock.nowMs() + hourMs);
    await rig.until(transaction.id, 'submitted');
    rig.clock.moveOn(hourMs + 2_000);
    await untilReason(rig, transaction.id, clockReason);
    assert.equal((await rig.attempts(transaction.id)).length, 1);
    await anvil.rpc('evm_increaseTime', [hourMs / 1000 + 10]);
    await anvil.rpc('anvil_dropTransaction', [(await rig.attempts(transaction.id))[0]?.hash]);
    await anvil.mine();
    await waitFor('the self-transfer', async () => ((await rig.attempts(transaction.id)).length === 2 ? true : undefined));
    const { shown } = await rig.untilWithBlocks(transaction.id, 'expired');
    assert.equal(shown?.purpose, 'expire');
  });

  it('the clock of the network alone ends nothing, but nothing is signed while it shows that the time has passed', async (test) => {
    const anvil = await startAnvil({ noMining: true });
    test.after(() => anvil.stop());
    const rig = await startEvmRig(anvil, { folder: await temporaryFolder() });
    test.after(() => rig.stop());
    await anvil.rpc('evm_increaseTime', [2 * (hourMs / 1000)]);
    await anvil.mine();
    // Its confirmation shows that the lane has seen that block.
    await rig.untilWithBlocks((await rig.send({ valueWei: 1n })).transaction.id, 'confirmed');
    const { transaction } = await rig.send({ valueWei: 2n }, rig.clock.nowMs() + hourMs);
    await untilReason(rig, transaction.id, clockReason);
    assert.deepEqual(await rig.attempts(transaction.id), []);
    assert.equal((await rig.view(transaction.id)).transaction.status, 'pending');
  });

  it("the database's clock alone ends nothing, but nothing is signed while it shows that the time has passed", async (test) => {
    const anvil = await startAnvil({ noMining: true });
    test.after(() => anvil.stop());
    const rig = await startEvmRig(anvil, { folder: await temporaryFolder() });
    test.after(() => rig.stop());
    rig.setDatabaseBehind(-2 * hourMs);
    const { transaction } = await rig.send({ valueWei: 1n }, rig.clock.nowMs() + hourMs);
    await anvil.mine();
    await untilReason(rig, transaction.id, clockReason);
    assert.deepEqual(await rig.attempts(transaction.id), []);
    assert.equal((await rig.view(transaction.id)).transaction.status, 'pending');
    rig.setDatabaseBehind(0);
    await rig.untilWithBlocks(transaction.id, 'confirmed');
  });

  it('Stellar: the time at which a ledger was seen, if the node reports no close time, is no second clock', async (test) => {
    const receiver = stellarKey().address;
    const rig = await startStellarRig({
      folder: await temporaryFolder(),
      accounts: { [receiver]: 100_000_000n },
      hasOneClock: true,
      async answerOf(_place, call, ask) {
        const answer = await ask(call);
        if (call.method !== 'getLatestLedger' || !('result' in answer)) return answer;
        const { closeTime: _, ...older } = answer.result as { closeTime: string };
        return { result: older };
      },
    });
    test.after(() => rig.stop());
    rig.setDatabaseBehind(2 * hourMs);
    rig.node.setOutcome((method) => (method === 'getFeeStats' ? { refusedWith: 503 } : null));
    const { transaction } = await rig.send({ operations: [payment(receiver, 1n)], validUntilMs: rig.clock.nowMs() + hourMs });
    rig.clock.moveOn(hourMs + 2_000);
    await untilReason(rig, transaction.id, clockReason);
    rig.setDatabaseBehind(0);
    await rig.until(transaction.id, 'expired');
  });

  it('after a restart without a node, unsigned content ends as expired', async (test) => {
    const folder = await temporaryFolder();
    const anvil = await startAnvil({ noMining: true });
    test.after(() => anvil.stop());
    const privateKey = Buffer.alloc(32, 7);
    const first = await startEvmRig(anvil, { folder, privateKey });
    await anvil.stop();
    const { transaction } = await first.send({ valueWei: 1n }, first.clock.nowMs() + hourMs);
    await first.stop();
    const second = await startEvmRig(anvil, { folder, privateKey, fund: async () => undefined });
    test.after(() => second.stop());
    second.clock.moveOn(hourMs + 2_000);
    const { transaction: ended } = await second.until(transaction.id, 'expired');
    assert.equal(ended.statusReason, 'valid_until passed');
  });
});
