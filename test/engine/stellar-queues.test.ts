import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { Keypair, Operation } from '@stellar/stellar-sdk';
import { cancelTransaction } from '../../src/core/transaction/cancel-transaction.js';
import { type StellarRig, type StellarRigOptions, startStellarRig } from '../support/engine-rig.js';
import { payment, stellarKey } from '../support/stellar.js';
import { closeLedgers, sponsoredCall, sponsoredPayment, untilReason } from '../support/stellar-calls.js';
import { createWallet, walletOf } from '../support/stellar-wallet.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

async function start(test: TestContext, options: Partial<StellarRigOptions> = {}) {
  const rig = await startStellarRig({ folder: await temporaryFolder(), accounts, ...options });
  test.after(() => rig.stop());
  return rig;
}

const receiver = stellarKey().address;
const accounts = { [receiver]: 10_000_000n };
const laterMs = (): number => Date.now() + 3_600_000;

async function bidsOf(rig: StellarRig, id: string): Promise<readonly bigint[]> {
  return (await rig.attempts(id)).map(({ fields }) => (fields.network === 'stellar' ? fields.bid.feeStroops : 0n));
}

const isBusy = /TRY_AGAIN_LATER/;

describe('the queues of a Stellar node', { concurrency: 4 }, () => {
  it('sponsored contract calls wait while they would keep a payment of the relayer out, which no bid helps', async (test) => {
    const rig = await start(test);
    const { ledger } = rig.node;
    const first = await rig.send(sponsoredCall(ledger, createWallet(ledger)));
    await rig.untilWaiting(first.transaction.id);
    const own = await rig.send({ operations: [payment(receiver, 5_000_000n)], validUntilMs: laterMs() });
    await untilReason(rig, own.transaction.id, isBusy);
    const second = await rig.send(sponsoredCall(ledger, createWallet(ledger)));
    await untilReason(rig, second.transaction.id, /^waiting: .*transaction .* is mined/);
    ledger.close();
    await rig.until(first.transaction.id, 'confirmed');
    await rig.untilWaiting(own.transaction.id);
    ledger.close();
    await rig.until(own.transaction.id, 'confirmed');
    await rig.untilWaiting(second.transaction.id);
    await rig.untilWithBlocks(second.transaction.id, 'confirmed');
    assert.deepEqual(await bidsOf(rig, own.transaction.id), [100n]);
    assert.equal((await rig.attempts(second.transaction.id)).length, 1);
  });

  it('a sponsored contract call that waited goes before the next payment of the relayer', async (test) => {
    const rig = await start(test);
    const { ledger } = rig.node;
    const own = await rig.send({ operations: [payment(receiver, 1n)] });
    await rig.untilWaiting(own.transaction.id);
    const call = await rig.send(sponsoredCall(ledger, createWallet(ledger)));
    await untilReason(rig, call.transaction.id, /^waiting: /);
    const next = await rig.send({ operations: [payment(receiver, 2n)] });
    ledger.close();
    await rig.untilWaiting(call.transaction.id);
    ledger.close();
    await rig.until(call.transaction.id, 'confirmed');
    await rig.untilWithBlocks(next.transaction.id, 'confirmed');
  });

  it('sponsored payments go beside a payment of the relayer', async (test) => {
    const rig = await start(test);
    const own = await rig.send({ operations: [payment(receiver, 1n)] });
    await rig.untilWaiting(own.transaction.id);
    const beside = await rig.send(sponsoredPayment(createWallet(rig.node.ledger), receiver));
    await rig.untilWaiting(beside.transaction.id);
    rig.node.ledger.close();
    await rig.until(own.transaction.id, 'confirmed');
    await rig.until(beside.transaction.id, 'confirmed');
  });

  it('bump fee: TRY_AGAIN_LATER raises no bid', async (test) => {
    const rig = await start(test);
    rig.node.setOutcome((method) => (method === 'sendTransaction' ? { sending: 'try again later' } : null));
    const { transaction } = await rig.send({ operations: [payment(receiver, 5_000_000n)], validUntilMs: laterMs() });
    await untilReason(rig, transaction.id, isBusy);
    await closeLedgers(rig, 8);
    assert.deepEqual(await bidsOf(rig, transaction.id), [100n]);
  });

  it('cancel: outbids an attempt that one node refused and another one took', async (test) => {
    const rig = await start(test, { nodeCount: 2 });
    rig.node.setQueueFullBelow(200n);
    const { transaction } = await rig.send({ operations: [payment(receiver, 5_000_000n)] });
    await untilReason(rig, transaction.id, /demands a fee/);
    await waitFor('the other node to take it', () => rig.node.ledger.waiting().length === 1 || undefined);
    await cancelTransaction(rig.deps, rig.relayer, transaction.id);
    await rig.untilWaiting(transaction.id);
    await rig.untilWithBlocks(transaction.id, 'canceled');
  });

  it('cancel: of a contract call that waits in a queue ends without another bid, when the call has left it', async (test) => {
    const rig = await start(test);
    rig.node.ledger.setSurge(10_000_000n);
    const args = [{ kind: 'u32', value: 1 } as const];
    const contractAddress = rig.node.ledger.testContract;
    const call = { kind: 'invoke_contract', contractAddress, functionName: 'increment', args, auth: undefined } as const;
    const { transaction } = await rig.send({ operations: [call], validUntilMs: laterMs() });
    await rig.untilWaiting(transaction.id);
    await cancelTransaction(rig.deps, rig.relayer, transaction.id);
    await untilReason(rig, transaction.id, isBusy);
    await closeLedgers(rig, 5);
    rig.node.ledger.setSurge(100n);
    await rig.untilWithBlocks(transaction.id, 'canceled');
    assert.equal((await rig.attempts(transaction.id)).length, 2);
  });

  it('release slot: attempts that every node refuses as invalid delay the next one by seconds', async (test) => {
    const rig = await start(test, { policies: { allowAccountChanges: ['revoke_sponsorship'] } });
    // Nodes find it malformed, since nobody sponsors a pool, and the service finds nothing wrong with it.
    const revocation = Operation.revokeLiquidityPoolSponsorship({ liquidityPoolId: 'ab'.repeat(32) });
    const malformed = () => {
      const built = walletOf(rig.node.ledger, rig.key.keys).build([revocation]);
      built.signatures.splice(0);
      return rig.send({ transactionXdr: built.toXdr(), validUntilMs: laterMs() });
    };
    const bad = [await malformed(), await malformed()];
    const good = await rig.send({ operations: [payment(receiver, 5_000_000n)] });
    await rig.untilWithBlocks(good.transaction.id, 'confirmed');
    for (const { transaction } of bad) {
      const { status, failureReason, statusReason, nonce } = (await rig.view(transaction.id)).transaction;
      assert.deepEqual([status, failureReason], ['failed', 'never_accepted']);
      assert.equal(
        statusReason,
        `no RPC node accepted it: the node answered txFAILED: operation 1: REVOKE_SPONSORSHIP_MALFORMED: an operation is invalid; replaced by a no-op transaction at sequence number ${nonce} to unblock later transactions`,
      );
      assert.deepEqual(await bidsOf(rig, transaction.id), [100n, 100n]);
    }
  });

  it('a payment whose max_fee is below the market waits without a sequence number until the market falls', async (test) => {
    const rig = await start(test);
    const { ledger } = rig.node;
    ledger.setSurge(5_000n);
    ledger.close();
    const cheap = await rig.send({ operations: [payment(receiver, 1n)], maxFeeStroops: 400n, validUntilMs: laterMs() });
    await untilReason(
      rig,
      cheap.transaction.id,
      /^waiting: the market fee of 5000 stroops per operation is above what max_fee 400 allows; will send when it falls$/,
    );
    const other = await rig.send({ operations: [payment(receiver, 2n)] });
    await rig.untilWaiting(other.transaction.id);
    ledger.close();
    await rig.until(other.transaction.id, 'confirmed');
    assert.deepEqual(
      [(await rig.view(cheap.transaction.id)).transaction.status, (await rig.attempts(cheap.transaction.id)).length],
      ['pending', 0],
    );
    ledger.setSurge(100n);
    await rig.untilWithBlocks(cheap.transaction.id, 'confirmed');
  });

  it('bump fee: raises no bid that meets the market, however long ledgers leave it out, and says so', async (test) => {
    const rig = await start(test);
    const { ledger } = rig.node;
    ledger.setLeavesOutAll(true);
    const own = await rig.send({ operations: [payment(receiver, 5_000_000n)], validUntilMs: laterMs() });
    const sponsored = await rig.send(sponsoredPayment(createWallet(ledger), receiver));
    for (const { transaction } of [own, sponsored]) await rig.untilWaiting(transaction.id);
    // Their queues drop them after four ledgers, and take them again ten later.
    await closeLedgers(rig, 16);
    for (const { transaction } of [own, sponsored]) await untilReason(rig, transaction.id, /although its bid meets the market price/);
    assert.deepEqual([await bidsOf(rig, own.transaction.id), await bidsOf(rig, sponsored.transaction.id)], [[100n], [200n]]);
  });

  it('bump fee: stops at the market, and follows it when it rises', async (test) => {
    const rig = await start(test);
    const { ledger } = rig.node;
    ledger.setLeavesOutAll(true);
    const { transaction } = await rig.send({ operations: [payment(receiver, 5_000_000n)], validUntilMs: laterMs() });
    await rig.untilWaiting(transaction.id);
    ledger.setSurge(4_000n);
    const bids = async (): Promise<readonly bigint[]> => await bidsOf(rig, transaction.id);
    for (const expected of [2, 3]) {
      await waitFor('the fee bump', async () => {
        ledger.close();
        return (await bids()).length === expected || undefined;
      });
      await closeLedgers(rig, 16);
      assert.equal((await bids()).length, expected);
      ledger.setSurge(20_000n);
    }
    // The market per operation of the fee-bump envelope, which counts as two; a fee bump has at least ten times the earlier bid.
    assert.deepEqual(await bids(), [100n, 8_000n, 80_000n]);
    ledger.setLeavesOutAll(false);
    const confirmed = await rig.untilWithBlocks(transaction.id, 'confirmed');
    assert.equal(confirmed.transaction.mined?.facts?.feePaid, 40_000n);
  });

  it('bump fee: envelopes that no node accepts keep no other from being bumped', async (test) => {
    const rig = await start(test);
    const { ledger } = rig.node;
    const dead = [];
    for (let count = 0; count < 16; count += 1)
      dead.push(await rig.send(sponsoredPayment(createWallet(ledger), receiver, { signers: [Keypair.random()] })));
    for (const { transaction } of dead) await untilReason(rig, transaction.id, /txBAD_AUTH/);
    // Ledgers leave it out, although the queue takes it.
    ledger.setSurge(500n);
    const { transaction } = await rig.send(sponsoredPayment(createWallet(ledger), receiver));
    await rig.untilWaiting(transaction.id);
    await closeLedgers(rig, 6);
    const confirmed = await rig.untilWithBlocks(transaction.id, 'confirmed');
    assert.equal(confirmed.transaction.mined?.version, 2);
  });
});
