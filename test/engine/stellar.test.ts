import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import {
  Account,
  Asset,
  BASE_FEE,
  FeeBumpTransaction,
  Keypair,
  Networks,
  Operation,
  Transaction,
  TransactionBuilder,
} from '@stellar/stellar-sdk';
import { DomainError } from '../../src/core/errors/errors.js';
import type { Chain } from '../../src/core/ports/chain/chain.js';
import type { StellarAttemptFields, StellarRequest } from '../../src/core/records/stellar.js';
import type { Attempt } from '../../src/core/records/transaction.js';
import { cancelTransaction } from '../../src/core/transaction/cancel-transaction.js';
import { replaceTransaction } from '../../src/core/transaction/replace-transaction.js';
import { type StellarRig, type StellarRigOptions, startStellarRig, untilReason } from '../support/engine-rig.js';
import { payment, stellarKey, stellarRequest } from '../support/stellar.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

async function start(test: TestContext, options: Partial<StellarRigOptions> = {}) {
  const rig = await startStellarRig({ folder: await temporaryFolder(), ...options });
  test.after(() => rig.stop());
  return rig;
}

const receiver = stellarKey().address;
const other = stellarKey().address;
const accounts = { [receiver]: 10_000_000n, [other]: 10_000_000n };

function replace(rig: StellarRig, id: string, changes: Partial<StellarRequest>) {
  return replaceTransaction(rig.deps, rig.relayer, id, stellarRequest(changes));
}

async function refusalOf(doing: Promise<unknown>): Promise<string> {
  const error = await doing.then(
    () => assert.fail('it was accepted'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof DomainError, String(error));
  return `${error.kind} ${error.reason}: ${error.message}`;
}

function saysOf(attempt: Attempt | undefined): StellarAttemptFields {
  assert.ok(attempt?.fields.network === 'stellar');
  return attempt.fields;
}

/** A payment of one stroop to `receiver` that `wallet` numbered and signed. */
function signedXdr(rig: StellarRig, wallet: Keypair, maxTimeS = 0, stroops = '0.0000001'): string {
  const sequence = rig.node.ledger.latest().state.accounts.get(wallet.publicKey())?.sequence ?? 0n;
  const transaction = new TransactionBuilder(new Account(wallet.publicKey(), sequence.toString()), {
    fee: BASE_FEE,
    networkPassphrase: rig.node.ledger.passphrase,
    timebounds: { minTime: 0, maxTime: maxTimeS },
  })
    .addOperation(Operation.payment({ destination: receiver, asset: Asset.native(), amount: stroops }))
    .build();
  transaction.sign(wallet);
  return transaction.toXdr();
}

/** The same for the relayer's account: unsigned, and not valid before this time. */
function earlyXdr(rig: StellarRig, minTimeS: number): string {
  return new TransactionBuilder(new Account(rig.key.address, '0'), {
    fee: BASE_FEE,
    networkPassphrase: rig.node.ledger.passphrase,
    timebounds: { minTime: minTimeS, maxTime: 0 },
  })
    .addOperation(Operation.payment({ destination: receiver, asset: Asset.native(), amount: '0.0000001' }))
    .build()
    .toXdr();
}

describe('transactions on Stellar', { concurrency: 4 }, () => {
  it('a payment is signed, sent, mined and confirmed', async (test) => {
    const rig = await start(test, { accounts });
    const { transaction } = await rig.send({ operations: [payment(receiver, 5_000_000n)] });
    await rig.until(transaction.id, 'submitted');
    const confirmed = await rig.untilWithBlocks(transaction.id, 'confirmed');
    assert.equal(confirmed.transaction.statusReason, null);
    assert.deepEqual(confirmed.transaction.mined?.facts, { gasUsed: null, feePaid: 100n, returnValueXdr: null });
    assert.equal(await rig.chain.balanceOf(receiver), 15_000_000n);
    assert.equal(await rig.chain.balanceOf(rig.key.address), 1_000_000_000n - 5_000_000n - 100n);
  });

  it('valid_until: of 60 payments sent at once none expires while it waits for its turn', async (test) => {
    const rig = await start(test, { accounts, hasOneClock: true });
    const sent = await Promise.all(
      Array.from({ length: 60 }, (_, index) => rig.send({ operations: [payment(receiver, BigInt(index + 1))] })),
    );
    assert.ok(sent.every(({ transaction }) => transaction.validUntilMs === null));
    for (const { transaction } of sent) {
      await rig.untilWaiting(transaction.id);
      const { validUntilMs } = (await rig.view(transaction.id)).transaction;
      assert.ok(validUntilMs !== null && validUntilMs > rig.clock.nowMs() + 110_000 && validUntilMs <= rig.clock.nowMs() + 120_000);
      // One transaction of the account fits into each ledger.
      rig.clock.moveOn(5_000);
      rig.node.ledger.pass(5);
      rig.node.ledger.close();
    }
    for (const { transaction } of sent) await rig.until(transaction.id, 'confirmed');
  });

  it('payments go one after the other in the sequence of the account', async (test) => {
    const rig = await start(test, { accounts });
    const ids = [];
    for (let count = 0; count < 3; count += 1) ids.push((await rig.send({ operations: [payment(receiver, 1n)] })).transaction.id);
    const nonces = [];
    for (const id of ids) nonces.push((await rig.untilWithBlocks(id, 'confirmed')).transaction.nonce ?? 0n);
    const [first = 0n] = nonces;
    assert.deepEqual(nonces, [first, first + 1n, first + 2n]);
  });

  it('replace: a fee bump at the same sequence number bids ten times as much per operation', async (test) => {
    const rig = await start(test, { accounts });
    const { transaction } = await rig.send({ operations: [payment(receiver, 5_000_000n)] });
    await rig.until(transaction.id, 'submitted');
    const replaced = await replace(rig, transaction.id, { operations: [payment(other, 7_000_000n)] });
    const [first, second] = await rig.attempts(transaction.id);
    assert.deepEqual(
      [first?.nonce, saysOf(first).bid.feeStroops, saysOf(first).innerHash],
      [transaction.nonce ?? replaced.transaction.nonce, 100n, null],
    );
    assert.deepEqual([second?.nonce, saysOf(second).bid.feeStroops], [first?.nonce, 2_000n]);
    assert.equal(replaced.shown?.hash, second?.hash);
    await rig.untilWaiting(transaction.id);
    const confirmed = await rig.untilWithBlocks(transaction.id, 'confirmed');
    assert.equal(confirmed.transaction.mined?.version, 2);
    assert.equal(await rig.chain.balanceOf(other), 17_000_000n);
    assert.equal(await rig.chain.balanceOf(receiver), 10_000_000n);
  });

  it('replace: the record says which attempt won the race', async (test) => {
    const rig = await start(test, { accounts });
    const { transaction } = await rig.send({ operations: [payment(receiver, 5_000_000n)] });
    await rig.until(transaction.id, 'submitted');
    rig.node.setOutcome((method) => (method === 'sendTransaction' ? { sending: 'dropped' } : null));
    await replace(rig, transaction.id, { operations: [payment(other, 7_000_000n)] });
    const confirmed = await rig.untilWithBlocks(transaction.id, 'confirmed');
    assert.equal(confirmed.transaction.mined?.version, 1);
    assert.equal(confirmed.transaction.statusReason, 'attempt 1 was mined instead of the newest, attempt 2');
  });

  it('replace: identical content makes no second attempt', async (test) => {
    const rig = await start(test, { accounts });
    rig.node.ledger.setQueueFullBelow(50_000n);
    const validUntilMs = Date.now() + 600_000;
    const request = { operations: [payment(receiver, 5_000_000n)], validUntilMs };
    const { transaction } = await rig.send(request);
    await waitFor('the refusal', async () => (await rig.view(transaction.id)).transaction.statusReason?.includes('50000') || undefined);
    const replaced = await replace(rig, transaction.id, request);
    assert.equal(replaced.transaction.liveVersion, 1);
    assert.equal((await rig.attempts(transaction.id)).length, 1);
  });

  it('replace: a max_fee below the minimum is rejected with the minimum', async (test) => {
    const rig = await start(test, { accounts });
    const { transaction } = await rig.send({ operations: [payment(receiver, 5_000_000n)] });
    await rig.until(transaction.id, 'submitted');
    const replacing = replace(rig, transaction.id, { operations: [payment(other, 7n)], maxFeeStroops: 1_999n });
    assert.equal(
      await refusalOf(replacing),
      'invalid REPLACEMENT_UNDERPRICED: max_fee allows a fee of 1999 stroops; this transaction needs at least 2000',
    );
    assert.equal((await rig.attempts(transaction.id)).length, 1);
  });

  it('cancel: a transaction that changes nothing takes the sequence number', async (test) => {
    const rig = await start(test, { accounts });
    const { transaction } = await rig.send({ operations: [payment(receiver, 5_000_000n)] });
    await rig.until(transaction.id, 'submitted');
    await cancelTransaction(rig.deps, rig.relayer, transaction.id);
    await rig.untilWaiting(transaction.id);
    const canceled = await rig.untilWithBlocks(transaction.id, 'canceled');
    const { nonce, statusReason } = canceled.transaction;
    assert.equal(statusReason, `canceled: replaced by a no-op transaction at sequence number ${nonce}`);
    assert.equal(await rig.chain.balanceOf(receiver), 10_000_000n);
  });

  it('expire: an attempt dies of its time bounds, and a transaction that changes nothing takes its sequence number', async (test) => {
    const rig = await start(test, { accounts });
    rig.node.setOutcome((method) => (method === 'sendTransaction' ? { sending: 'dropped' } : null));
    const { transaction } = await rig.send({ operations: [payment(receiver, 5_000_000n)] });
    await rig.until(transaction.id, 'submitted');
    rig.node.ledger.pass(121);
    rig.node.ledger.close();
    rig.node.setOutcome(null);
    rig.clock.moveOn(121_000);
    await rig.untilWithBlocks(transaction.id, 'expired');
    // On a slow machine enough ledgers may close for another fee bump.
    const attempts = (await rig.attempts(transaction.id)).slice(0, 2);
    assert.deepEqual(
      attempts.map((attempt) => [attempt.purpose, saysOf(attempt).bid.feeStroops, saysOf(attempt).maxTimeS === null]),
      [
        ['content', 100n, false],
        ['expire', 100n, true],
      ],
    );
  });

  it('bump fee: a bid rises to what a full queue demands', async (test) => {
    const rig = await start(test, { accounts });
    rig.node.ledger.setQueueFullBelow(500n);
    const { transaction } = await rig.send({ operations: [payment(receiver, 5_000_000n)] });
    const confirmed = await rig.untilWithBlocks(transaction.id, 'confirmed');
    const attempts = await rig.attempts(transaction.id);
    assert.equal(confirmed.transaction.mined?.version, 2);
    assert.deepEqual(
      attempts.map((attempt) => saysOf(attempt).bid.feeStroops),
      [100n, 1_000n],
    );
  });

  it('foreign use of the sequence number gives the transaction another one', async (test) => {
    const rig = await start(test, { accounts });
    rig.node.setOutcome((method) => (method === 'sendTransaction' ? { sending: 'dropped' } : null));
    const { transaction } = await rig.send({ operations: [payment(receiver, 5_000_000n)] });
    const before = await rig.until(transaction.id, 'submitted');
    rig.node.ledger.submit(signedXdr(rig, rig.key.keys));
    rig.node.setOutcome(null);
    const confirmed = await rig.untilWithBlocks(transaction.id, 'confirmed');
    assert.equal(confirmed.transaction.nonce, (before.transaction.nonce ?? 0n) + 1n);
    assert.equal(await rig.chain.balanceOf(receiver), 15_000_001n);
  });

  it('a foreign fee-bump envelope around an attempt counts as landed, and nothing is sent again', async (test) => {
    const payer = Keypair.random();
    const rig = await start(test, { accounts: { ...accounts, [payer.publicKey()]: 100_000_000n } });
    const { transaction } = await rig.send({ operations: [payment(receiver, 5_000_000n)] });
    await rig.until(transaction.id, 'submitted');
    rig.node.setOutcome((method) => (method === 'sendTransaction' ? { sending: 'dropped' } : null));
    await replace(rig, transaction.id, { operations: [payment(other, 7_000_000n)] });
    const [first, second] = await rig.attempts(transaction.id);
    const inner = TransactionBuilder.fromXdr(second?.raw ?? '', rig.node.ledger.passphrase);
    assert.ok(inner instanceof FeeBumpTransaction);
    const foreign = TransactionBuilder.buildFeeBumpTransaction(payer, '50000', inner.innerTransaction, rig.node.ledger.passphrase);
    foreign.sign(payer);
    rig.node.ledger.submit(foreign.toXdr());
    const confirmed = await rig.untilWithBlocks(transaction.id, 'confirmed');
    assert.deepEqual([confirmed.transaction.mined?.version, confirmed.transaction.mined?.facts?.feePaid], [2, 0n]);
    assert.equal(first?.nonce, confirmed.transaction.nonce);
    assert.equal(await rig.chain.balanceOf(other), 17_000_000n);
  });

  it('a transaction whose time bounds have not begun delays no other', async (test) => {
    const rig = await start(test, { accounts });
    const minTimeS = Math.floor(Date.now() / 1000) + 3_600;
    const early = await rig.send({ transactionXdr: earlyXdr(rig, minTimeS) });
    const due = await rig.send({ operations: [payment(receiver, 5_000_000n)] });
    await rig.untilWithBlocks(due.transaction.id, 'confirmed');
    const reason = `waiting: its time bounds begin at ${minTimeS} (Unix seconds); retrying`;
    const { transaction } = await waitFor('the reason', async () => {
      const view = await rig.view(early.transaction.id);
      return view.transaction.statusReason === reason ? view : undefined;
    });
    assert.deepEqual([transaction.status, transaction.nonce], ['pending', null]);
  });

  it('a transaction that no node can estimate delays no other', async (test) => {
    const rig = await start(test, { accounts });
    rig.node.setOutcome((method) => (method === 'simulateTransaction' ? { refusedWith: 500 } : null));
    const { testContract } = rig.node.ledger;
    const call = { kind: 'invoke_contract', contractAddress: testContract, functionName: 'add', args: [], auth: undefined } as const;
    const unanswered = await rig.send({ operations: [call] });
    const answered = await rig.send({ operations: [payment(receiver, 5_000_000n)] });
    await rig.untilWithBlocks(answered.transaction.id, 'confirmed');
    const { transaction } = await rig.view(unanswered.transaction.id);
    assert.deepEqual(
      [transaction.status, transaction.statusReason],
      ['pending', 'waiting: no RPC node could estimate this transaction; retrying'],
    );
  });

  it('a failure on chain is recorded with the result codes', async (test) => {
    const rig = await start(test);
    const nobody = stellarKey().address;
    const { transaction } = await rig.send({ operations: [payment(nobody, 5_000_000n)] });
    const failed = await rig.untilWithBlocks(transaction.id, 'failed');
    assert.equal(failed.transaction.statusReason, 'failed on chain: txFAILED: operation 1: PAYMENT_NO_DESTINATION');
    assert.equal(failed.transaction.failureReason, 'reverted');
  });

  it('transactions on Stellar: sends wait until the account exists', async (test) => {
    const rig = await start(test, { accounts, fundsStroops: 0n });
    const { transaction } = await rig.send({ operations: [payment(receiver, 5_000_000n)] });
    await untilReason(rig, transaction.id, `waiting: account ${rig.key.address} does not exist on local; fund it; retrying`);
    rig.node.ledger.fund(rig.key.address, 1_000_000_000n);
    await rig.untilWithBlocks(transaction.id, 'confirmed');
  });

  it('an account that was just created gets its first sequence number right', async (test) => {
    const rig = await start(test, { accounts, fundsStroops: 0n });
    const early = await rig.send({ operations: [payment(receiver, 5_000_000n)] });
    await untilReason(rig, early.transaction.id, `waiting: account ${rig.key.address} does not exist on local; fund it; retrying`);
    await cancelTransaction(rig.deps, rig.relayer, early.transaction.id);
    rig.node.ledger.fund(rig.key.address, 1_000_000_000n);
    const { transaction } = await rig.send({ operations: [payment(receiver, 5_000_000n)] });
    const confirmed = await rig.untilWithBlocks(transaction.id, 'confirmed');
    assert.ok((confirmed.transaction.nonce ?? 0n) > 1n);
  });
});

describe('contract calls', { concurrency: 4 }, () => {
  it('a contract call is simulated, paid for, and returns its value', async (test) => {
    const rig = await start(test);
    const { transaction } = await rig.send({
      operations: [
        {
          kind: 'invoke_contract',
          contractAddress: rig.node.ledger.testContract,
          functionName: 'add',
          args: [
            { kind: 'u32', value: 2 },
            { kind: 'u32', value: 3 },
          ],
          auth: undefined,
        },
      ],
    });
    const { transaction: after } = await rig.untilWithBlocks(transaction.id, 'confirmed');
    assert.equal(after.mined?.facts?.returnValueXdr, 'AAAAAwAAAAU=');
    assert.ok((after.mined?.facts?.feePaid ?? 0n) > 100n);
  });

  it('a contract call is authorized by the source account as simulated', async (test) => {
    const rig = await start(test);
    const greet = (who: string) =>
      rig.send({
        operations: [
          {
            kind: 'invoke_contract',
            contractAddress: rig.node.ledger.testContract,
            functionName: 'greet',
            args: [{ kind: 'address', value: who }],
            auth: undefined,
          },
        ],
      });
    const own = await greet(rig.key.address);
    await rig.untilWithBlocks(own.transaction.id, 'confirmed');
    const foreign = await greet(other);
    const { transaction } = await rig.until(foreign.transaction.id, 'failed');
    assert.equal(
      transaction.statusReason,
      'the contract call needs authorization by an address other than the source account; send its signed entries with auth of type xdr',
    );
  });

  it('a contract call that fails in simulation is not signed', async (test) => {
    const rig = await start(test);
    const { transaction } = await rig.send({
      operations: [
        { kind: 'invoke_contract', contractAddress: rig.node.ledger.testContract, functionName: 'fail', args: [], auth: undefined },
      ],
    });
    const { transaction: failed } = await rig.until(transaction.id, 'failed');
    assert.match(failed.statusReason ?? '', /^the simulation failed: HostError: Error\(Contract, #1\)/);
    assert.equal(failed.failureReason, 'would_revert');
    assert.deepEqual(await rig.attempts(transaction.id), []);
  });

  it('replace: a contract call replaces a contract call', async (test) => {
    const rig = await start(test);
    const increment = (by: number): Partial<StellarRequest> => ({
      operations: [
        {
          kind: 'invoke_contract',
          contractAddress: rig.node.ledger.testContract,
          functionName: 'increment',
          args: [{ kind: 'u32', value: by }],
          auth: undefined,
        },
      ],
    });
    const { transaction } = await rig.send(increment(1));
    await rig.until(transaction.id, 'submitted');
    await replace(rig, transaction.id, increment(5));
    await rig.untilWaiting(transaction.id);
    const { transaction: after } = await rig.untilWithBlocks(transaction.id, 'confirmed');
    assert.deepEqual([after.mined?.version, after.mined?.facts?.returnValueXdr], [2, 'AAAAAwAAAAU=']);
    const [first, second] = (await rig.attempts(transaction.id)).map((attempt) => saysOf(attempt).bid);
    assert.equal((second?.feeStroops ?? 0n) - (second?.resourceFeeStroops ?? 0n), 2_000n);
    assert.equal((first?.feeStroops ?? 0n) - (first?.resourceFeeStroops ?? 0n), 100n);
  });
});

/** Uploads this many KiB of code, whose resource fee is mostly the rent of its size. */
function upload(kibibytes: number): StellarRequest['operations'] {
  const wasm = Buffer.concat([Buffer.from('0061736d01000000', 'hex'), Buffer.alloc(kibibytes * 1024)]);
  return [{ kind: 'upload_wasm', wasm: { kind: 'hex', bytes: wasm }, auth: undefined }];
}

describe('max_fee covers the resource fee of contract operations', { concurrency: 4 }, () => {
  const noMaxFee =
    /^the default max_fee allows a fee of 1000000 stroops; this transaction needs at least (\d+): set max_fee to that or more$/;

  it('an upload that needs more than the default fails with the amount to set, and that amount is enough', async (test) => {
    const rig = await start(test, { accounts });
    const { transaction } = await rig.send({ operations: upload(120) });
    const { transaction: failed } = await rig.until(transaction.id, 'failed');
    assert.equal(failed.failureReason, 'fee_limit');
    const [, needed = '0'] = noMaxFee.exec(failed.statusReason ?? '') ?? assert.fail(String(failed.statusReason));
    assert.ok(BigInt(needed) > 1_000_000n);
    assert.deepEqual(await rig.attempts(transaction.id), []);
    const short = await rig.send({ operations: upload(120), maxFeeStroops: BigInt(needed) - 1n });
    const { transaction: refused } = await rig.until(short.transaction.id, 'failed');
    assert.deepEqual(
      [refused.failureReason, refused.statusReason],
      ['fee_limit', `max_fee allows a fee of ${BigInt(needed) - 1n} stroops; this transaction needs at least ${needed}`],
    );
    const enough = await rig.send({ operations: upload(120), maxFeeStroops: BigInt(needed) });
    const { transaction: done } = await rig.untilWithBlocks(enough.transaction.id, 'confirmed');
    assert.ok((done.mined?.facts?.feePaid ?? 0n) <= BigInt(needed));
  });

  it('replace: an upload that needs more than the default is rejected with the amount to set, and the earlier attempt stays', async (test) => {
    const rig = await start(test, { accounts });
    const { transaction } = await rig.send({ operations: upload(1) });
    await rig.until(transaction.id, 'submitted');
    const before = await rig.view(transaction.id);
    const refusal = await refusalOf(replace(rig, transaction.id, { operations: upload(120) }));
    const prefix = 'invalid GAS_PRICE_CAP_EXCEEDED: ';
    assert.ok(refusal.startsWith(prefix), refusal);
    const [, needed = '0'] = noMaxFee.exec(refusal.slice(prefix.length)) ?? assert.fail(refusal);
    assert.equal((await rig.attempts(transaction.id)).length, 1);
    assert.equal((await rig.view(transaction.id)).transaction.revision, before.transaction.revision);
    await replace(rig, transaction.id, { operations: upload(120), maxFeeStroops: BigInt(needed) });
    assert.equal(saysOf((await rig.attempts(transaction.id)).at(-1)).bid.feeStroops, BigInt(needed));
  });

  it('replace: an unsigned transaction takes the content in place, and fails with the amount to set', async (test) => {
    const rig = await start(test, { accounts });
    rig.node.setOutcome((method) => (method === 'simulateTransaction' ? { refusedWith: 503 } : null));
    const { transaction } = await rig.send({ operations: upload(1) });
    await replace(rig, transaction.id, { operations: upload(120) });
    rig.node.setOutcome(null);
    const { transaction: failed } = await rig.until(transaction.id, 'failed');
    assert.equal(failed.failureReason, 'fee_limit');
    assert.match(failed.statusReason ?? '', noMaxFee);
  });

  it('bump fee: a bid never exceeds the default together with the resource fee', async (test) => {
    const rig = await start(test, { accounts });
    rig.node.ledger.setQueueFullBelow(50_000n);
    const { transaction } = await rig.send({ operations: upload(40) });
    await waitFor('the service to reach the limit', async () => {
      rig.node.ledger.close();
      return (await rig.view(transaction.id)).transaction.statusReason?.startsWith('fee not increased') === true ? true : undefined;
    });
    const bids = (await rig.attempts(transaction.id)).map((attempt) => saysOf(attempt).bid);
    assert.ok(
      bids.every(({ feeStroops, resourceFeeStroops }) => resourceFeeStroops > 850_000n && feeStroops <= 1_000_000n),
      String(bids),
    );
    rig.node.ledger.setQueueFullBelow(0n);
    await rig.untilWithBlocks(transaction.id, 'confirmed');
  });

  it('cancel: the transaction that changes nothing needs no max_fee', async (test) => {
    const rig = await start(test, { accounts });
    rig.node.ledger.setLeavesOutAll(true);
    const { transaction } = await rig.send({ operations: upload(120), maxFeeStroops: 9_000_000n });
    await rig.until(transaction.id, 'submitted');
    await cancelTransaction(rig.deps, rig.relayer, transaction.id);
    for (let ledgers = 0; ledgers < 4; ledgers += 1) rig.node.ledger.close();
    rig.node.ledger.setLeavesOutAll(false);
    await rig.untilWithBlocks(transaction.id, 'canceled');
  });
});

describe('simulations that one node gets wrong', { concurrency: 4 }, () => {
  type Lie = (result: object) => object;
  const lies: Readonly<Record<string, readonly [Lie, Partial<StellarRequest>]>> = {
    'a resource fee above the default max_fee': [(result) => ({ ...result, minResourceFee: '5000000' }), {}],
    'a resource fee above the max_fee of the request': [
      (result) => ({ ...result, minResourceFee: '5000000' }),
      { maxFeeStroops: 900_000n },
    ],
    'a resource fee that leaves no room for the inclusion fee': [
      (result) => ({ ...result, minResourceFee: String(2n ** 32n - 1n) }),
      { maxFeeStroops: 5_000_000_000n },
    ],
    'a failure of the call': [() => ({ error: 'HostError: Error(WasmVm, InvalidAction)', latestLedger: 3 }), {}],
    'archived entries': [
      (result) => ({
        ...result,
        restorePreamble: { minResourceFee: '1', transactionData: (result as { transactionData?: string }).transactionData },
      }),
      {},
    ],
  };

  /** Two nodes, of which the first one lies until it is told to stop. */
  async function startWithLiar(test: TestContext, lie: Lie) {
    let isLying = true;
    const rig = await start(test, {
      accounts,
      nodeCount: 2,
      fundsStroops: 10_000_000_000n,
      policies: { maxFeeStroops: 2n ** 40n },
      async answerOf(place, call, ask) {
        const answer = await ask(call);
        return isLying && place === 0 && call.method === 'simulateTransaction' && 'result' in answer
          ? { result: lie(answer.result as object) }
          : answer;
      },
    });
    const stopLying = () => {
      isLying = false;
    };
    return { rig, stopLying };
  }

  for (const [name, [lie, changes]] of Object.entries(lies)) {
    it(`simulation: ${name}, as one node of two claims, fails no transaction`, async (test) => {
      const { rig } = await startWithLiar(test, lie);
      const { transaction } = await rig.send({ operations: upload(1), ...changes });
      const { transaction: done } = await rig.untilWithBlocks(transaction.id, 'confirmed');
      const { feeStroops, resourceFeeStroops } = saysOf((await rig.attempts(done.id)).at(-1)).bid;
      assert.ok(feeStroops >= resourceFeeStroops + 100n && resourceFeeStroops < 1_000_000n, `${feeStroops}, ${resourceFeeStroops}`);
    });
  }

  it('simulation: a resource fee above the default max_fee, which no other node contradicts, fails the transaction although it changes with each ledger', async (test) => {
    let feeStroops = 5_000_000;
    const { rig } = await startWithLiar(test, (result) => {
      feeStroops += 1;
      return { ...result, minResourceFee: String(feeStroops) };
    });
    rig.nodes[1]?.setOutcome((method) => (method === 'simulateTransaction' ? { refusedWith: 503 } : null));
    const { transaction } = await rig.send({ operations: upload(1) });
    const reasonOf = async () => (await rig.view(transaction.id)).transaction.statusReason ?? '';
    await waitFor('the doubted refusal', async () => /needs at least/.test(await reasonOf()) || undefined);
    rig.clock.moveOn(61_000);
    const { transaction: ended } = await rig.untilWithBlocks(transaction.id, 'failed');
    assert.equal(ended.failureReason, 'fee_limit');
  });

  for (const name of ['a resource fee above the default max_fee', 'a failure of the call'] as const) {
    it(`simulation: ${name}, while no other node answers, makes the transaction wait`, async (test) => {
      const [lie] = lies[name] ?? assert.fail();
      const { rig, stopLying } = await startWithLiar(test, lie);
      rig.nodes[1]?.setOutcome((method) => (method === 'simulateTransaction' ? { refusedWith: 503 } : null));
      const { transaction } = await rig.send({ operations: upload(1) });
      await waitFor(
        'the doubted refusal',
        async () =>
          /^waiting: .*(needs at least|simulation failed)/.test((await rig.view(transaction.id)).transaction.statusReason ?? '') ||
          undefined,
      );
      assert.equal((await rig.view(transaction.id)).transaction.status, 'pending');
      stopLying();
      await rig.untilWithBlocks(transaction.id, 'confirmed');
    });
  }
});

describe('fee-bump envelopes of foreign transactions', { concurrency: 4 }, () => {
  it('a fee-bump envelope lands and costs only the fee', async (test) => {
    const user = Keypair.random();
    const rig = await start(test, { accounts: { ...accounts, [user.publicKey()]: 100_000_000n } });
    const { transaction } = await rig.send({ transactionXdr: signedXdr(rig, user), feeBump: true });
    const confirmed = await rig.untilWithBlocks(transaction.id, 'confirmed');
    assert.equal(confirmed.transaction.nonce, null);
    assert.equal(await rig.chain.balanceOf(user.publicKey()), 100_000_000n - 1n);
    assert.equal(await rig.chain.balanceOf(rig.key.address), 1_000_000_000n - 200n);
  });

  it('bump fee: a bid rises to what a full queue demands', async (test) => {
    const user = Keypair.random();
    const rig = await start(test, { accounts: { ...accounts, [user.publicKey()]: 100_000_000n } });
    rig.node.ledger.setQueueFullBelow(500n);
    const { transaction } = await rig.send({ transactionXdr: signedXdr(rig, user), feeBump: true });
    const confirmed = await rig.untilWithBlocks(transaction.id, 'confirmed');
    assert.equal(confirmed.transaction.mined?.version, 2);
    assert.deepEqual(
      (await rig.attempts(transaction.id)).map((attempt) => saysOf(attempt).bid.feeStroops),
      [200n, 1_000n],
    );
  });

  it('replace: another transaction of the same account and sequence number replaces it', async (test) => {
    const user = Keypair.random();
    const rig = await start(test, { accounts: { ...accounts, [user.publicKey()]: 100_000_000n } });
    const { transaction } = await rig.send({ transactionXdr: signedXdr(rig, user), feeBump: true });
    await rig.until(transaction.id, 'submitted');
    assert.match(
      await refusalOf(replace(rig, transaction.id, { operations: [payment(receiver, 1n)] })),
      /^invalid FIELD_INVALID: transaction_xdr must be signed by G\w+ with sequence number \d+, like the transaction that it replaces$/,
    );
    await replace(rig, transaction.id, { transactionXdr: signedXdr(rig, user, 0, '0.0000005'), feeBump: true });
    await rig.untilWaiting(transaction.id);
    const confirmed = await rig.untilWithBlocks(transaction.id, 'confirmed');
    assert.equal(confirmed.transaction.mined?.version, 2);
    assert.equal(await rig.chain.balanceOf(user.publicKey()), 100_000_000n - 5n);
  });

  it('replace: an envelope that was signed for another network is rejected, before and after the signature of the first one', async (test) => {
    const user = Keypair.random();
    const rig = await start(test, { accounts: { ...accounts, [user.publicKey()]: 100_000_000n } });
    rig.node.setOutcome(() => ({ refusedWith: 503 }));
    const { transaction } = await rig.send({ transactionXdr: signedXdr(rig, user), feeBump: true });
    const elsewhere = new Transaction(signedXdr(rig, user, 0, '0.0000002'), Networks.PUBLIC);
    elsewhere.signatures.splice(0);
    elsewhere.sign(user);
    const wrong = `invalid FIELD_INVALID: transaction_xdr has a signature of ${user.publicKey()} that is not valid on this network; sign it again, with this network's passphrase`;
    const doing = () => refusalOf(replace(rig, transaction.id, { transactionXdr: elsewhere.toXdr(), feeBump: true }));
    assert.equal(await doing(), wrong);
    rig.node.setOutcome(null);
    await rig.until(transaction.id, 'submitted');
    assert.equal(await doing(), wrong);
    assert.equal((await rig.attempts(transaction.id)).length, 1);
    await rig.untilWithBlocks(transaction.id, 'confirmed');
  });

  it('replace: the same envelope after a refusal makes no second attempt', async (test) => {
    const user = Keypair.random();
    const stranger = Keypair.random();
    const rig = await start(test, { accounts: { ...accounts, [user.publicKey()]: 100_000_000n } });
    const badlySigned = (stroops: string) => {
      const envelope = TransactionBuilder.fromXdr(signedXdr(rig, user, 0, stroops), rig.node.ledger.passphrase);
      envelope.signatures.splice(0);
      envelope.sign(stranger);
      return { transactionXdr: envelope.toXdr(), feeBump: true };
    };
    const sendRefused = async (stroops: string) => {
      const { transaction } = await rig.send(badlySigned(stroops));
      await waitFor('the refusal', async () =>
        (await rig.view(transaction.id)).transaction.statusReason?.includes('txBAD_AUTH') ? true : undefined,
      );
      return transaction;
    };
    const refused = await sendRefused('0.0000002');
    const replaced = await replace(rig, refused.id, badlySigned('0.0000002'));
    assert.equal(replaced.transaction.liveVersion, 1);
    assert.equal((await rig.attempts(refused.id)).length, 1);
  });

  it('replace: a replacement without valid_until keeps the one that another replacement set meanwhile, also if all attempts are identical', async (test) => {
    const user = Keypair.random();
    let duringDraft: (() => Promise<unknown>) | null = null;
    const changed = (chain: Chain): Chain => ({
      ...chain,
      async draft(request) {
        const draft = await chain.draft(request);
        const meanwhile = duringDraft;
        duringDraft = null;
        await meanwhile?.();
        return draft;
      },
    });
    const rig = await start(test, { changed, accounts: { ...accounts, [user.publicKey()]: 100_000_000n } });
    const envelope = TransactionBuilder.fromXdr(signedXdr(rig, user), rig.node.ledger.passphrase);
    envelope.signatures.splice(0);
    envelope.sign(Keypair.random());
    const content = { transactionXdr: envelope.toXdr(), feeBump: true };
    const soonMs = rig.clock.nowMs() + 3_600_000;
    const { transaction } = await rig.send({ ...content, validUntilMs: soonMs });
    await waitFor(
      'the refusal',
      async () => (await rig.view(transaction.id)).transaction.statusReason?.includes('txBAD_AUTH') || undefined,
    );
    duringDraft = () => replace(rig, transaction.id, { ...content, validUntilMs: soonMs + 3_600_000 });
    await replace(rig, transaction.id, content);
    assert.equal(duringDraft, null);
    assert.equal((await rig.attempts(transaction.id)).length, 1);
    assert.equal((await rig.view(transaction.id)).transaction.validUntilMs, soonMs + 3_600_000);
  });

  it('bump fee: a bump that would equal another transaction is skipped, and the lane goes on', async (test) => {
    const user = Keypair.random();
    const rig = await start(test, { accounts: { ...accounts, [user.publicKey()]: 100_000_000n } });
    rig.node.ledger.setQueueFullBelow(1_000n);
    const { transaction } = await rig.send({ transactionXdr: signedXdr(rig, user), feeBump: true });
    await waitFor(
      'the refusal',
      async () => (await rig.view(transaction.id)).transaction.statusReason?.includes('demands a fee') || undefined,
    );
    const [live] = await rig.attempts(transaction.id);
    const { sequence } = rig.chain;
    assert.ok(live !== undefined && sequence !== null);
    const raised = await sequence.bumpFee({
      relayer: rig.relayer,
      content: transaction.content,
      live,
      outbids: [live],
      reason: 'demanded',
    });
    assert.ok(!('refused' in raised));
    const duplicate = { ...live, ...(await rig.chain.sign(raised, null, rig.key.signer)), transactionId: 'duplicate' };
    const { change, commit } = rig.deps.store;
    await commit([
      change.insertTransaction({ ...transaction, id: duplicate.transactionId, status: 'failed' }),
      change.insertAttempt(duplicate),
    ]);
    await waitFor('the duplicate to be told', async () => {
      rig.node.ledger.close();
      return (await rig.view(transaction.id)).transaction.statusReason?.includes('identical to transaction duplicate') || undefined;
    });
    rig.node.ledger.setQueueFullBelow(0n);
    const confirmed = await rig.untilWithBlocks(transaction.id, 'confirmed');
    assert.equal(confirmed.transaction.liveVersion, 1);
  });

  it('cancel: rejected without time bounds; with them it ends when they are over', async (test) => {
    const user = Keypair.random();
    const another = Keypair.random();
    const rig = await start(test, {
      accounts: { ...accounts, [user.publicKey()]: 100_000_000n, [another.publicKey()]: 100_000_000n },
      nodeCount: 2,
    });
    for (const node of rig.nodes) node.setOutcome((method) => (method === 'sendTransaction' ? { sending: 'dropped' } : null));
    const endless = await rig.send({ transactionXdr: signedXdr(rig, user), feeBump: true });
    await rig.until(endless.transaction.id, 'submitted');
    assert.equal(
      await refusalOf(cancelTransaction(rig.deps, rig.relayer, endless.transaction.id)),
      `precondition CANCEL_NOT_POSSIBLE: transaction_xdr has no time bounds, so it can land at any time; only its source account ${user.publicKey()} can prevent that, by using its sequence number`,
    );
    const bounded = await rig.send({ transactionXdr: signedXdr(rig, another, Math.floor(Date.now() / 1000) + 60), feeBump: true });
    await rig.until(bounded.transaction.id, 'submitted');
    await cancelTransaction(rig.deps, rig.relayer, bounded.transaction.id);
    rig.node.ledger.pass(61);
    await rig.untilWithBlocks(bounded.transaction.id, 'canceled');
  });

  it('foreign use of its sequence number, which two nodes show, fails the transaction', async (test) => {
    const user = Keypair.random();
    const rig = await start(test, { accounts: { ...accounts, [user.publicKey()]: 100_000_000n }, nodeCount: 2 });
    for (const node of rig.nodes) node.setOutcome((method) => (method === 'sendTransaction' ? { sending: 'dropped' } : null));
    const { transaction } = await rig.send({ transactionXdr: signedXdr(rig, user), feeBump: true });
    await rig.until(transaction.id, 'submitted');
    rig.node.ledger.submit(signedXdr(rig, user, 0, '0.0000009'));
    const { transaction: failed } = await rig.untilWithBlocks(transaction.id, 'failed');
    assert.match(
      failed.statusReason ?? '',
      /^another transaction used sequence number \d+ of its source account, and it cannot be sent again: sequence number \d+ of G\w+ is already used/,
    );
    assert.equal(failed.failureReason, 'outdated');
  });
});
