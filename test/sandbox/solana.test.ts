import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, it, type TestContext } from 'node:test';
import * as kit from '@solana/kit';
import { buildTransaction, signerOf } from '../../src/sandbox/solana/build-transaction.js';
import { newest } from '../../src/sandbox/solana/chain.js';
import { transferOf, unitLimitOf, unitPriceOf } from '../../src/sandbox/solana/instructions.js';
import { type LocalSolana, type SolanaOptions, startSolana } from '../../src/sandbox/solana/start-solana.js';
import { waitFor } from '../support/wait-for.js';

const sol = 1_000_000_000n;
const [alice, bob, nobody] = await Promise.all([signerOf(1), signerOf(2), signerOf(3)]);

interface Rig extends LocalSolana {
  /** The public library's client for the first node. */
  readonly rpc: ReturnType<typeof kit.createSolanaRpc>;
  /** Builds a transfer from alice to bob with the newest blockhash, in base64. */
  transfer(given?: Partial<TransferOptions>): Promise<string>;
  /** Sends without preflight and retries; returns the signature. */
  send(transaction: string): Promise<kit.Signature>;
  balance(signer: kit.KeyPairSigner): Promise<bigint>;
}

interface TransferOptions {
  readonly payer: kit.KeyPairSigner;
  readonly lamports: bigint;
  readonly blockhash: string;
  readonly version: 'legacy' | 0;
  readonly bid: bigint;
}

async function rigOf(test: TestContext, options: SolanaOptions = {}): Promise<Rig> {
  const solana = await startSolana({ accounts: [{ address: alice.address, lamports: 10n * sol }], ...options });
  test.after(() => solana.stop());
  const rpc = kit.createSolanaRpc(solana.url);
  return {
    ...solana,
    rpc,
    async transfer({ payer = alice, lamports = sol, blockhash, version = 0, bid } = {}) {
      const fresh = blockhash ?? solana.chain.tip(newest).hash;
      const bidding = bid === undefined ? [] : [unitLimitOf(10_000), unitPriceOf(bid)];
      const instructions = [...bidding, transferOf(payer.address, bob.address, lamports)];
      return Buffer.from(
        await buildTransaction({ payer: payer.address, signers: [payer], instructions, blockhash: fresh, version }),
      ).toString('base64');
    },
    send: (transaction) => rpc.sendTransaction(transaction as never, { encoding: 'base64', skipPreflight: true, maxRetries: 0n }).send(),
    balance: async (signer) => (await rpc.getBalance(signer.address, { commitment: 'processed' }).send()).value,
  };
}

/** Returns the raw JSON answer of a node. */
async function raw(
  url: string,
  method: string,
  params: readonly unknown[] = [],
): Promise<{ status: number; body: { result?: unknown; error?: unknown } }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }),
  });
  return { status: response.status, body: (await response.json()) as object };
}

async function resultOf(url: string, method: string, params: readonly unknown[] = []): Promise<unknown> {
  return (await raw(url, method, params)).body.result;
}

async function errorOf(url: string, method: string, params: readonly unknown[] = []): Promise<unknown> {
  return (await raw(url, method, params)).body.error;
}

describe('local Solana: a transaction', () => {
  for (const version of ['legacy', 0] as const) {
    it(`local Solana: a transaction: waits for a block, then becomes processed, confirmed and finalized (${version})`, async (test) => {
      const { rpc, chain, transfer, send, balance } = await rigOf(test);
      const signature = await send(await transfer({ version }));
      const statusOf = async () => (await rpc.getSignatureStatuses([signature]).send()).value[0];
      assert.equal(await statusOf(), null);
      assert.deepEqual(chain.pool.waiting(), [signature]);

      chain.advance();
      const { slot } = chain.tip(newest);
      assert.deepEqual(await statusOf(), { slot, confirmations: 0n, err: null, status: { Ok: null }, confirmationStatus: 'processed' });
      chain.advance();
      assert.equal((await statusOf())?.confirmationStatus, 'confirmed');
      chain.advance(29);
      assert.deepEqual((await statusOf())?.confirmations, 30n);
      chain.advance();
      assert.deepEqual(await statusOf(), { slot, confirmations: null, err: null, status: { Ok: null }, confirmationStatus: 'finalized' });
      assert.equal(await balance(alice), 9n * sol - 5_000n);
      assert.equal(await balance(bob), sol);
    });
  }

  it('local Solana: a transaction: changes balances as each commitment sees it', async (test) => {
    const { rpc, chain, transfer, send } = await rigOf(test);
    await send(await transfer());
    chain.advance();
    const balances = (['processed', 'confirmed', 'finalized'] as const).map(
      async (commitment) => (await rpc.getBalance(bob.address, { commitment }).send()).value,
    );
    assert.deepEqual(await Promise.all(balances), [sol, 0n, 0n]);
    chain.advance();
    assert.equal((await rpc.getBalance(bob.address, { commitment: 'confirmed' }).send()).value, sol);
    assert.equal((await rpc.getBalance(bob.address, { commitment: 'finalized' }).send()).value, 0n);
  });

  it('local Solana: a transaction: pays the quoted fee, including the priority fee', async (test) => {
    const { rpc, chain, send, balance } = await rigOf(test);
    const blockhash = chain.tip(newest).hash;
    const give = transferOf(alice.address, bob.address, sol);
    // A limit and a price; a price alone (each instruction counts 3,000 units then); neither; a fraction of a lamport is rounded up.
    const priced = [
      [unitLimitOf(1_000), unitPriceOf(5_000_000n), give],
      [unitPriceOf(7_000_001n), give, give],
      [give, give, give],
      [unitLimitOf(501), unitPriceOf(1n), give],
    ];
    for (const instructions of priced) {
      const bytes = await buildTransaction({ payer: alice.address, signers: [alice], instructions, blockhash });
      const message = Buffer.from(bytes.subarray(65)).toString('base64');
      const { value: quoted } = await rpc.getFeeForMessage(message as never, { commitment: 'processed' }).send();
      const before = await balance(alice);
      await send(Buffer.from(bytes).toString('base64'));
      chain.advance();
      const gifts = BigInt(instructions.filter((instruction) => instruction === give).length);
      assert.equal(before - (await balance(alice)), gifts * sol + (quoted ?? 0n));
    }
  });

  it('local Solana: a transaction: pays even if it fails on chain, and reports the cause', async (test) => {
    const { rpc, chain, transfer, send, balance } = await rigOf(test);
    const signature = await send(await transfer({ lamports: 100n * sol }));
    chain.advance(2);
    const [status] = (await rpc.getSignatureStatuses([signature]).send()).value;
    assert.deepEqual(status?.err, { InstructionError: [0n, { Custom: 1n }] });
    assert.equal(await balance(alice), 10n * sol - 5_000n);
    const found = await rpc
      .getTransaction(signature, { encoding: 'base64', commitment: 'confirmed', maxSupportedTransactionVersion: 0 })
      .send();
    assert.equal(found?.meta?.fee, 5_000n);
    assert.ok(found?.meta?.logMessages?.includes('Transfer: insufficient lamports 9999995000, need 100000000000'));
  });

  it('local Solana: a transaction: cannot leave an account below its rent-exempt minimum', async (test) => {
    const { rpc, chain, transfer, send, balance } = await rigOf(test);
    const signature = await send(await transfer({ lamports: 10n }));
    chain.advance();
    const [status] = (await rpc.getSignatureStatuses([signature]).send()).value;
    assert.deepEqual(status?.err, { InsufficientFundsForRent: { account_index: 1n } });
    assert.equal(await balance(alice), 10n * sol - 5_000n);
  });

  it('local Solana: a transaction: lands only once if it is sent repeatedly', async (test) => {
    const { chain, transfer, send, balance } = await rigOf(test);
    const transaction = await transfer();
    await send(transaction);
    await send(transaction);
    chain.advance();
    const signature = await send(transaction);
    chain.advance();
    assert.equal(chain.refused.get(signature), 'AlreadyProcessed');
    assert.equal(await balance(bob), sol);
  });

  it('local Solana: a transaction: lands until its blockhash is 150 blocks old, and not later', async (test) => {
    const { rpc, chain, transfer, send, balance } = await rigOf(test);
    const { value: latest } = await rpc.getLatestBlockhash({ commitment: 'processed' }).send();
    const { height } = chain.tip(newest);
    assert.equal(latest.lastValidBlockHeight, height + 150n);
    const [early, late] = [await transfer({ lamports: sol }), await transfer({ lamports: 2n * sol })];
    const isValid = async () => (await rpc.isBlockhashValid(latest.blockhash, { commitment: 'processed' }).send()).value;

    chain.advance(149);
    await send(early);
    chain.advance();
    assert.equal(await balance(bob), sol);
    assert.equal(await rpc.getBlockHeight({ commitment: 'processed' }).send(), latest.lastValidBlockHeight);
    assert.equal(await isValid(), true);
    chain.advance();
    assert.equal(await isValid(), false);
    const signature = await send(late);
    chain.advance();
    assert.equal(chain.refused.get(signature), 'BlockhashNotFound');
    assert.equal(await balance(bob), sol);
  });

  it('local Solana: a transaction: leaves no trace on chain if its payer has no funds', async (test) => {
    const { rpc, chain, transfer, send } = await rigOf(test);
    const signature = await send(await transfer({ payer: nobody }));
    chain.advance();
    assert.deepEqual((await rpc.getSignatureStatuses([signature], { searchTransactionHistory: true }).send()).value, [null]);
    assert.equal(chain.refused.get(signature), 'AccountNotFound');
  });

  it('local Solana: a transaction: can use addresses of a lookup table', async (test) => {
    const { chain, send, balance } = await rigOf(test);
    const table = kit.address('AddressLookupTab1e1111111111111111111111112');
    // Discriminator 1, deactivation slot never, last extended at slot 0 from index 0, no authority; then the addresses.
    const head = Buffer.alloc(56);
    head.writeUInt32LE(1, 0);
    head.writeBigUInt64LE(2n ** 64n - 1n, 4);
    chain.putAccount(table, {
      lamports: sol,
      owner: 'AddressLookupTab1e1111111111111111111111111',
      data: new Uint8Array(Buffer.concat([head, Buffer.from(kit.getAddressEncoder().encode(bob.address))])),
      executable: false,
    });
    const blockhash = chain.tip(newest).hash as never;
    const message = kit.pipe(
      kit.createTransactionMessage({ version: 0 }),
      (empty) => kit.setTransactionMessageFeePayerSigner(alice, empty),
      (payable) => kit.setTransactionMessageLifetimeUsingBlockhash({ blockhash, lastValidBlockHeight: 0n }, payable),
      (living) => kit.appendTransactionMessageInstructions([transferOf(alice.address, bob.address, sol)], living),
      (whole) => kit.compressTransactionMessageUsingAddressLookupTables(whole, { [table]: [bob.address] }),
    );
    await send(kit.getBase64EncodedWireTransaction(await kit.signTransactionMessageWithSigners(message)));
    chain.advance();
    assert.equal(await balance(bob), sol);
    chain.takeBack(1);
    assert.equal(await balance(bob), 0n, 'a reorg also reverts accounts of a table');
  });

  it('local Solana: a transaction: can be an airdrop', async (test) => {
    const { url, chain, balance } = await rigOf(test);
    const airdrop = () => resultOf(url, 'requestAirdrop', [nobody.address, Number(sol)]);
    assert.notEqual(await airdrop(), await airdrop());
    chain.advance();
    assert.equal(await balance(nobody), 2n * sol);
  });
});

describe('local Solana: a pending transaction', () => {
  it('local Solana: a pending transaction: is lost if its packets are lost and nothing rebroadcasts it', async (test) => {
    const { chain, transfer, send, balance } = await rigOf(test);
    chain.pool.losesPackets = true;
    const transaction = await transfer();
    await send(transaction);
    chain.advance();
    chain.pool.losesPackets = false;
    chain.advance(10);
    assert.equal(await balance(bob), 0n);
    assert.deepEqual(chain.pool.waiting(), []);
    await send(transaction);
    chain.advance();
    assert.equal(await balance(bob), sol);
  });

  it('local Solana: a pending transaction: is rebroadcast by a node on request until its blockhash expires', async (test) => {
    const { rpc, chain, transfer, balance } = await rigOf(test);
    chain.pool.losesPackets = true;
    await rpc.sendTransaction((await transfer()) as never, { encoding: 'base64', skipPreflight: true }).send();
    chain.advance();
    chain.pool.losesPackets = false;
    chain.advance(4);
    assert.equal(await balance(bob), 0n);
    chain.advance();
    assert.equal(await balance(bob), sol);

    chain.pool.losesPackets = true;
    await rpc.sendTransaction((await transfer()) as never, { encoding: 'base64', skipPreflight: true }).send();
    chain.advance(150 + 31);
    assert.equal(chain.pool.waiting().length, 1);
    chain.advance();
    assert.deepEqual(chain.pool.waiting(), []);
  });

  it('local Solana: a pending transaction: waits while other transactions bid more', async (test) => {
    const { rpc, chain, transfer, send, balance } = await rigOf(test);
    chain.pool.lowestBidMicroLamports = 1_000n;
    await send(await transfer({ lamports: sol, bid: 999n }));
    await send(await transfer({ lamports: 2n * sol, bid: 1_000n }));
    chain.advance();
    assert.equal(await balance(bob), 2n * sol);
    assert.equal((await rpc.getRecentPrioritizationFees().send()).at(-1)?.prioritizationFee, 1_000n);
    chain.pool.lowestBidMicroLamports = 0n;
    await send(await transfer({ lamports: 3n, bid: 1n }));
    await send(await transfer({ lamports: 4n, bid: 2n }));
    chain.advance();
    assert.deepEqual(
      chain.tip(newest).landed.map(({ transaction }) => transaction.bidMicroLamports),
      [999n, 2n, 1n],
    );
    assert.equal(await balance(bob), 3n * sol + 7n);
    assert.equal((await rpc.getRecentPrioritizationFees().send()).length, 35);
  });

  it('local Solana: a pending transaction: can be dropped', async (test) => {
    const { chain, transfer, send, balance } = await rigOf(test);
    await send(await transfer());
    chain.pool.drop();
    chain.advance();
    assert.equal(await balance(bob), 0n);
  });
});

describe('local Solana: a dropped fork', () => {
  it('local Solana: a dropped fork: reverts balances, statuses and blockhashes; its transactions can land again', async (test) => {
    const { rpc, chain, transfer, send, balance } = await rigOf(test);
    const transaction = await transfer();
    const signature = await send(transaction);
    chain.advance(3);
    const { value: onTheFork } = await rpc.getLatestBlockhash({ commitment: 'processed' }).send();
    const slot = await rpc.getSlot({ commitment: 'processed' }).send();
    chain.takeBack(3);
    assert.deepEqual((await rpc.getSignatureStatuses([signature], { searchTransactionHistory: true }).send()).value, [null]);
    assert.equal(await balance(alice), 10n * sol);
    assert.equal(await balance(bob), 0n);
    assert.equal((await rpc.isBlockhashValid(onTheFork.blockhash, { commitment: 'processed' }).send()).value, false);
    await send(transaction);
    chain.advance();
    assert.ok((await rpc.getSlot({ commitment: 'processed' }).send()) > slot, 'slots are never used twice');
    assert.equal(await balance(bob), sol);
    assert.throws(() => chain.takeBack(32), /finalized/);
  });

  it('local Solana: a dropped fork: leaves slots without a block, which heights do not count', async (test) => {
    const { rpc, chain } = await rigOf(test);
    const at = async () => [
      await rpc.getSlot({ commitment: 'processed' }).send(),
      await rpc.getBlockHeight({ commitment: 'processed' }).send(),
    ];
    const [slot = 0n, height = 0n] = await at();
    chain.skipSlots(5);
    chain.advance();
    assert.deepEqual(await at(), [slot + 6n, height + 1n]);
    const { absoluteSlot, blockHeight } = await rpc.getEpochInfo({ commitment: 'processed' }).send();
    assert.deepEqual([absoluteSlot, blockHeight], await at());
  });
});

describe('local Solana: a node rejects', () => {
  const base64 = { encoding: 'base64', preflightCommitment: 'processed' };

  it('local Solana: a node rejects a transaction that would fail, with the cause and the logs', async (test) => {
    const { url, transfer } = await rigOf(test);
    assert.deepEqual(await errorOf(url, 'sendTransaction', [await transfer({ lamports: 100n * sol }), base64]), {
      code: -32002,
      message: 'Transaction simulation failed: Error processing Instruction 0: custom program error: 0x1',
      data: {
        err: { InstructionError: [0, { Custom: 1 }] },
        logs: [
          'Program 11111111111111111111111111111111 invoke [1]',
          'Transfer: insufficient lamports 9999995000, need 100000000000',
          'Program 11111111111111111111111111111111 failed: custom program error: 0x1',
        ],
        unitsConsumed: 150,
        accounts: null,
        innerInstructions: null,
        postBalances: null,
        preBalances: null,
        replacementBlockhash: null,
        returnData: null,
      },
    });
  });

  it('local Solana: a node rejects an expired blockhash, one too new for preflight, a duplicate, and a payer without funds', async (test) => {
    const { url, chain, transfer, send } = await rigOf(test);
    const messageOf = async (transaction: string, options: object = base64) =>
      ((await errorOf(url, 'sendTransaction', [transaction, options])) as { message: string }).message;
    const transaction = await transfer();
    assert.equal(await messageOf(transaction, { encoding: 'base64' }), 'Transaction simulation failed: Blockhash not found');
    await send(transaction);
    chain.advance();
    assert.equal(await messageOf(transaction), 'Transaction simulation failed: This transaction has already been processed');
    assert.equal(
      await messageOf(await transfer({ payer: nobody })),
      'Transaction simulation failed: Attempt to debit an account but found no record of a prior credit.',
    );
    const old = await transfer({ lamports: 1n });
    chain.advance(151);
    assert.equal(await messageOf(old), 'Transaction simulation failed: Blockhash not found');
  });

  it('local Solana: a node rejects an invalid signature', async (test) => {
    const { url, transfer } = await rigOf(test);
    const bytes = Buffer.from(await transfer(), 'base64');
    bytes.writeUInt8(bytes.readUInt8(10) ^ 1, 10);
    const forged = bytes.toString('base64');
    const { code, message } = (await errorOf(url, 'sendTransaction', [forged, base64])) as { code: number; message: string };
    assert.deepEqual([code, message], [-32002, 'Transaction simulation failed: Transaction did not pass signature verification']);
    const simulated = await resultOf(url, 'simulateTransaction', [forged, { encoding: 'base64', commitment: 'processed' }]);
    assert.equal((simulated as { value: { err: unknown } }).value.err, null, 'a simulation verifies signatures only on request');
  });

  it('local Solana: a node rejects malformed input', async (test) => {
    const { url } = await rigOf(test);
    const cases: readonly (readonly [method: string, params: readonly unknown[], code: number, text: RegExp])[] = [
      ['sendTransaction', ['AAAA', base64], -32602, /^failed to deserialize/],
      ['sendTransaction', ['*', base64], -32602, /^invalid base64 encoding/],
      ['sendTransaction', ['A'.repeat(1648), base64], -32602, /too large: 1648 bytes \(max: encoded\/raw 1644\/1232\)$/],
      ['sendTransaction', [], -32602, /at least 1 argument/],
      ['getBalance', ['abc'], -32602, /^Invalid param: WrongSize$/],
      ['getSignatureStatuses', [['abc']], -32602, /^Invalid param: WrongSize$/],
      ['getSignatureStatuses', [Array.from({ length: 257 }, () => 'abc')], -32602, /^Too many inputs provided; max 256$/],
      ['getSlot', [{ minContextSlot: 10_000 }], -32016, /^Minimum context slot has not been reached$/],
      ['eth_chainId', [], -32601, /^Method not found$/],
    ];
    for (const [method, params, code, text] of cases) {
      const error = (await errorOf(url, method, params)) as { code: number; message: string };
      assert.equal(error.code, code, method);
      assert.match(error.message, text);
    }
  });
});

describe('local Solana: a faulty node', () => {
  it('local Solana: a faulty node: loses answers after acting, and requests before acting', async (test) => {
    const { node, chain, transfer, send } = await rigOf(test);
    node.fail('sendTransaction', 'answer_lost');
    await assert.rejects(send(await transfer()));
    assert.equal(chain.pool.waiting().length, 1);
    node.fail('sendTransaction', 'request_lost');
    await assert.rejects(send(await transfer({ lamports: 1n })));
    assert.equal(chain.pool.waiting().length, 1);
    assert.equal(node.calls.get('sendTransaction'), 2);
  });

  it('local Solana: a faulty node: answers 429, fails on command, or answers late', async (test) => {
    const { node, url, chain, transfer, send } = await rigOf(test);
    node.fail('*', 'rate_limited', 2);
    assert.deepEqual([(await raw(url, 'getSlot')).status, (await raw(url, 'getHealth')).status], [429, 429]);
    node.fail('getSlot', 'rate_limited');
    node.heal();
    node.fail('getSlot', { error: { code: -32005, message: 'Node is unhealthy' } });
    assert.deepEqual(await errorOf(url, 'getSlot'), { code: -32005, message: 'Node is unhealthy' });
    let release = (): void => {};
    node.fail('sendTransaction', { heldUntil: new Promise<void>((resolve) => (release = resolve)) });
    const sending = send(await transfer());
    await waitFor('the transaction', () => chain.pool.waiting()[0]);
    chain.advance();
    release();
    assert.deepEqual(chain.landed(await sending, newest)?.error, null);
  });

  it('local Solana: a faulty node: uses the configured confirmation and blockhash times', async (test) => {
    const { rpc, chain, transfer, send, balance } = await rigOf(test, {
      blockhashAgeBlocks: 3,
      confirmedAfterBlocks: 2,
      finalizedAfterBlocks: 4,
    });
    const blockhash = chain.tip(newest).hash;
    const signature = await send(await transfer({ blockhash }));
    const late = await transfer({ blockhash, lamports: 2n * sol });
    chain.advance(4);
    await send(late);
    chain.advance();
    assert.equal(await balance(bob), sol);
    assert.equal((await rpc.getSignatureStatuses([signature]).send()).value[0]?.confirmationStatus, 'finalized');
  });

  it('local Solana: a node that lags answers from the past, and reports a large lag', async (test) => {
    const { addNode, chain, transfer, send } = await rigOf(test);
    const node = await addNode();
    const rpc = kit.createSolanaRpc(node.url);
    node.condition.blocksBehind = 5;
    const signature = await send(await transfer());
    chain.advance(5);
    assert.deepEqual((await rpc.getSignatureStatuses([signature]).send()).value, [null]);
    assert.equal((await rpc.getBalance(bob.address, { commitment: 'processed' }).send()).value, 0n);
    chain.advance();
    assert.equal((await rpc.getSignatureStatuses([signature]).send()).value[0]?.confirmationStatus, 'processed');
    assert.equal(await rpc.getHealth().send(), 'ok');
    node.condition.blocksBehind = 129;
    const behind = { code: -32005, message: 'Node is behind by 129 slots', data: { numSlotsBehind: 129 } };
    assert.deepEqual(await errorOf(node.url, 'getHealth'), behind);
    chain.advance(100);
    const blockhash = chain.tip({ ...newest, commitment: 'finalized', blocksBehind: 129 }).hash;
    assert.deepEqual(await errorOf(node.url, 'sendTransaction', [await transfer({ blockhash }), { encoding: 'base64' }]), behind);
  });

  it('local Solana: a node on its own fork has the same height, sees no other transactions and finalizes nothing', async (test) => {
    const { addNode, chain, transfer, send } = await rigOf(test);
    const node = await addNode();
    const rpc = kit.createSolanaRpc(node.url);
    const finalizedHeight = () => rpc.getBlockHeight({ commitment: 'finalized' }).send();
    const before = await finalizedHeight();
    node.condition.forkedAfterSlot = chain.tip(newest).slot;
    const signature = await send(await transfer());
    chain.advance(40);
    const { context, value } = await rpc.getSignatureStatuses([signature], { searchTransactionHistory: true }).send();
    assert.deepEqual([context.slot, value[0]], [chain.tip(newest).slot, null]);
    assert.equal(await finalizedHeight(), before);
    node.condition.forkedAfterSlot = null;
    assert.equal((await rpc.getSignatureStatuses([signature]).send()).value[0]?.confirmationStatus, 'finalized');
  });

  it('local Solana: a node without history knows only the newest statuses', async (test) => {
    const { rpc, node, url, chain, transfer, send } = await rigOf(test);
    const signature = await send(await transfer());
    chain.advance(301);
    assert.equal((await rpc.getSignatureStatuses([signature]).send()).value[0]?.confirmationStatus, 'finalized');
    chain.advance();
    assert.deepEqual((await rpc.getSignatureStatuses([signature]).send()).value, [null]);
    const found = await rpc.getSignatureStatuses([signature], { searchTransactionHistory: true }).send();
    assert.equal(found.value[0]?.confirmationStatus, 'finalized');
    node.condition.historyFromSlot = chain.tip(newest).slot;
    assert.equal(await rpc.getFirstAvailableBlock().send(), node.condition.historyFromSlot);
    assert.deepEqual((await rpc.getSignatureStatuses([signature], { searchTransactionHistory: true }).send()).value, [null]);
    node.condition.historyFromSlot = 0n;
    const { slot, height } = chain.block(found.value[0]?.slot ?? 0n) ?? chain.tip(newest);
    const after = await rpc.getBlocksWithLimit(slot, 3).send();
    assert.equal(after[0], slot);
    assert.equal((await rpc.getBlock(slot, { transactionDetails: 'none', rewards: false }).send())?.blockHeight, height);
    node.condition.historyGap = { from: slot, to: slot };
    assert.deepEqual(await rpc.getBlocksWithLimit(slot, 2).send(), after.slice(1));
    assert.deepEqual((await rpc.getSignatureStatuses([signature], { searchTransactionHistory: true }).send()).value, [null]);
    const missing = await errorOf(url, 'getBlock', [Number(slot), { transactionDetails: 'none' }]);
    assert.equal((missing as { code: number }).code, -32007);
    node.condition.keepsHistory = false;
    const refused = { code: -32011, message: 'Transaction history is not available from this node' };
    assert.deepEqual(await errorOf(url, 'getSignatureStatuses', [[signature], { searchTransactionHistory: true }]), refused);
    assert.deepEqual(await errorOf(url, 'getTransaction', [signature]), refused);
  });

  it('local Solana: a faulty node: can accept transactions without forwarding them', async (test) => {
    const { node, chain, transfer, send } = await rigOf(test);
    node.condition.forwardsNothing = true;
    await send(await transfer());
    assert.deepEqual(chain.pool.waiting(), []);
  });
});

describe('local Solana: a node reports', () => {
  it('local Solana: a node reports accounts, rent, the history of an address and the network', async (test) => {
    const { rpc, url, chain, transfer, send } = await rigOf(test);
    const { value: account } = await rpc.getAccountInfo(alice.address, { encoding: 'base64' }).send();
    assert.deepEqual(account, {
      lamports: 10n * sol,
      owner: '11111111111111111111111111111111',
      executable: false,
      rentEpoch: 2n ** 64n - 1n,
      space: 0n,
      data: ['', 'base64'],
    });
    const { value: accounts } = await rpc.getMultipleAccounts([alice.address, nobody.address], { encoding: 'base64' }).send();
    assert.deepEqual([accounts[0]?.lamports, accounts[1]], [10n * sol, null]);
    assert.equal(await rpc.getMinimumBalanceForRentExemption(0n).send(), 890_880n);

    const sent = [await send(await transfer()), await send(await transfer({ lamports: 2n * sol }))];
    chain.advance(2);
    const history = await rpc.getSignaturesForAddress(bob.address, { commitment: 'confirmed', limit: 1 }).send();
    const older = await rpc.getSignaturesForAddress(bob.address, { commitment: 'confirmed', before: sent[1] as kit.Signature }).send();
    assert.deepEqual([history[0]?.signature, older[0]?.signature, older.length], [sent[1], sent[0], 1]);

    assert.equal(await rpc.getGenesisHash().send(), chain.genesisHash);
    assert.notEqual((await startAnother(test)).chain.genesisHash, chain.genesisHash);
    assert.equal((await rpc.getVersion().send())['solana-core'], '3.0.0');
    const batch = await fetch(url, {
      method: 'POST',
      body: JSON.stringify([1, 2].map((id) => ({ jsonrpc: '2.0', id, method: 'getHealth' }))),
    });
    assert.deepEqual(await batch.json(), [
      { jsonrpc: '2.0', result: 'ok', id: 1 },
      { jsonrpc: '2.0', result: 'ok', id: 2 },
    ]);
  });

  it('local Solana: a node reports units and logs of a simulation, which can ignore the blockhash', async (test) => {
    const { rpc, chain, transfer } = await rigOf(test);
    const old = await transfer();
    chain.advance(200);
    const simulate = async (replaceRecentBlockhash: boolean) =>
      (await rpc.simulateTransaction(old as never, { encoding: 'base64', commitment: 'confirmed', replaceRecentBlockhash } as never).send())
        .value;
    assert.equal((await simulate(false)).err, 'BlockhashNotFound');
    const value = await simulate(true);
    assert.deepEqual([value.err, value.unitsConsumed], [null, 150n]);
    assert.equal(chain.account(bob.address, newest), null);
  });
});

describe('local Solana as a program', () => {
  it('local Solana as a program: prints its address, makes blocks by timer or on command, and ends with its standard input', async () => {
    const flags = ['--slot-ms', '20', '--until-stdin-ends', '--account', `${alice.address}:77`];
    const child = spawn(process.execPath, ['dist/program/solana-cluster.js', ...flags], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    try {
      const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
      const url = line.replace('Listening on ', '');
      const rpc = kit.createSolanaRpc(url);
      const slotNow = () => rpc.getSlot({ commitment: 'processed' }).send();
      assert.equal((await rpc.getBalance(alice.address).send()).value, 77n);
      const slot = await slotNow();
      await waitFor('a slot', async () => ((await slotNow()) > slot ? true : undefined));
      const before = await slotNow();
      assert.equal(await (await fetch(`${url}/advance`)).text(), 'made 32 blocks\n');
      assert.ok((await slotNow()) >= before + 32n);
      child.stdin.end();
      const [code] = (await once(child, 'exit')) as [number];
      assert.equal(code, 0);
    } finally {
      child.kill('SIGKILL');
    }
  });
});

async function startAnother(test: TestContext): Promise<LocalSolana> {
  const another = await startSolana();
  test.after(() => another.stop());
  return another;
}
