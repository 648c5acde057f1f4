/*
 * The service on Agave's own validator: npm run suite -- solana-validator, with `-- --long` for the tests that take minutes. It needs the program
 * `solana-test-validator`, on the PATH or named by SOLANA_TEST_VALIDATOR.
 */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism, loadavg } from 'node:os';
import { after, before, describe, it, type TestContext } from 'node:test';
import { type Address, address, createDefaultRpcTransport, createSolanaRpcFromTransport } from '@solana/kit';
import { computeBudgetOf, unitLimitOf as grantedUnitsOf, priorityFeeLamports } from '../../../src/chains/solana/compute-budget.js';
import { base64From, type Message, messageBytes, transactionBytes, transactionFromBytes } from '../../../src/chains/solana/wire.js';
import type { SolanaRequest } from '../../../src/core/records/solana.js';
import { isFinal, type Transaction } from '../../../src/core/records/transaction.js';
import { buildTransaction, signerOf } from '../../../src/sandbox/solana/build-transaction.js';
import { systemProgram, transferOf, unitLimitOf, unitPriceOf } from '../../../src/sandbox/solana/instructions.js';
import { answersOf, askedAccounts, recordedAnswers } from '../../sandbox/solana-questions.js';
import { type SolanaEngineOptions, startSolanaEngine } from '../../support/engine-rig.js';
import { type AskedRequest, type FakeAnswer, relayed, startFakeNode } from '../../support/fake-node.js';
import type { SolanaClient, SolanaRecord } from '../../support/network-service.js';
import { createRelayerClient } from '../../support/relayer-client.js';
import { apiKey, createEd25519Home, startService } from '../../support/service.js';
import { type SolanaKey, solanaKey, transferInstruction } from '../../support/solana.js';
import { paymentBody } from '../../support/solana-body.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { waitFor } from '../../support/wait-for.js';
import { lookupTable, systemAccount, tokenAccount, tokenMint, tokenTransfer } from './genesis.js';
import { findValidator, startValidator, type Validator } from './start-validator.js';

const program = findValidator();
const skip = program === null ? 'solana-test-validator is neither on the PATH nor named by SOLANA_TEST_VALIDATOR' : false;
const isLong = process.argv.includes('--long');
const notShort = skip || (isLong ? false : 'only with --long');
const sol = 1_000_000_000n;
/** A hundred times what a transaction takes to be final on an idle machine. */
const finalWithinMs = 600_000;

/** Blocks of 0.1 s and epochs of 64 blocks, so that attempts die within a test and every test crosses epochs. */
const quickBlocks = ['--ticks-per-slot', '16', '--slots-per-epoch', '64'];

const [other, mint, table] = await Promise.all([signerOf(7), signerOf(50), signerOf(51)]);
const keys = Array.from({ length: 12 }, () => solanaKey());
const tokenOwner = solanaKey();
const [tokensFrom, tokensTo, behindTable] = [solanaKey().address, solanaKey().address, solanaKey().address];
const funded = Object.fromEntries([...keys, tokenOwner, other].map((key) => [key.address, systemAccount(10_000n * sol)]));
const accounts = {
  ...funded,
  ...Object.fromEntries(askedAccounts.map(({ address, lamports }) => [address, systemAccount(lamports)])),
  [mint.address]: tokenMint(1_000n),
  [tokensFrom]: tokenAccount(mint.address, tokenOwner.address, 1_000n),
  [tokensTo]: tokenAccount(mint.address, other.address, 0n),
  [table.address]: lookupTable([behindTable]),
};

type Engine = Awaited<ReturnType<typeof startSolanaEngine>>;

async function startEngine(test: TestContext, options: Omit<SolanaEngineOptions, 'folder'>): Promise<Engine> {
  const engine = await startSolanaEngine({ folder: await temporaryFolder(), ...options });
  test.after(() => engine.stop());
  return engine;
}

/** A funded key that no other test uses. */
function nextKey(): SolanaKey {
  const key = keys.pop();
  assert.ok(key !== undefined, 'every test needs a key of its own');
  return key;
}

async function send(engine: Engine, request: Partial<SolanaRequest>): Promise<string> {
  return (await engine.send(request)).transaction.id;
}

function sendMany(engine: Engine, to: string, count: number): Promise<readonly string[]> {
  // Each has an amount of its own above the rent-exempt minimum, so that the order of sends does not matter.
  return Promise.all(
    Array.from({ length: count }, (_, index) =>
      send(engine, { instructions: [transferInstruction(engine.key.address, to, 2_000_000n + BigInt(index))] }),
    ),
  );
}

async function untilFinal(engine: Engine, id: string): Promise<Transaction> {
  return waitFor(
    `${id} to be final`,
    async () => {
      const { transaction } = await engine.view(id);
      return isFinal(transaction.status) ? transaction : undefined;
    },
    finalWithinMs,
  );
}

async function untilConfirmed(engine: Engine, id: string): Promise<Transaction> {
  const transaction = await untilFinal(engine, id);
  assert.equal(transaction.status, 'confirmed', transaction.statusReason ?? '');
  return transaction;
}

/** The fields of `getTransaction` that the tests read. */
interface Landed {
  readonly transaction: readonly [string, string];
  readonly meta: { readonly fee: number; readonly err: unknown; readonly computeUnitsConsumed: number };
}

/** Reads back what landed: exactly one attempt, with the fee that the record names and a limit that sufficed. */
async function readBack(node: Validator, engine: Engine, { id, mined }: Transaction): Promise<Landed & { readonly message: Message }> {
  const config = { encoding: 'base64', commitment: 'confirmed', maxSupportedTransactionVersion: 0 };
  const attempts = await engine.attempts(id);
  const found = await Promise.all(attempts.map(({ hash }) => node.rpc<Landed | null>('getTransaction', [hash, config])));
  const [landed, ...twice] = found.flatMap((one) => one ?? []);
  assert.ok(landed !== undefined && twice.length === 0, `${found.length} attempts of ${id}, of which not exactly one landed`);
  const { message } = transactionFromBytes(Buffer.from(landed.transaction[0], 'base64'));
  const budget = computeBudgetOf(message);
  const limit = grantedUnitsOf(message, budget);
  assert.ok(landed.meta.computeUnitsConsumed <= limit);
  const fee = 5_000n * BigInt(message.signers) + priorityFeeLamports(budget.unitPriceMicroLamports ?? 0n, limit);
  assert.deepEqual([mined?.facts?.feePaid, BigInt(landed.meta.fee)], [fee, fee]);
  return { ...landed, message };
}

async function balanceOf(node: Validator, account: string): Promise<bigint> {
  return BigInt((await node.rpc<{ value: number }>('getBalance', [account, { commitment: 'confirmed' }])).value);
}

function paidBy(count: number): bigint {
  return Array.from({ length: count }, (_, index) => 2_000_000n + BigInt(index)).reduce((sum, one) => sum + one, 0n);
}

describe('solana-test-validator', { skip, concurrency: true }, () => {
  let node: Validator;

  before(async () => {
    node = await startValidator(program ?? '', { accounts, args: quickBlocks });
  });

  after(() => node?.stop());

  async function newestBlockhash(): Promise<string> {
    return (await node.rpc<{ value: { blockhash: string } }>('getLatestBlockhash', [{ commitment: 'confirmed' }])).value.blockhash;
  }

  /** A transaction that the other account signs, too, so that the service must not change it. */
  async function signedByOther(payer: string, lamports: bigint, blockhash: string): Promise<string> {
    const instructions = [transferOf(other.address, address(payer), lamports)];
    return base64From(await buildTransaction({ payer: address(payer), instructions, blockhash, signers: [other] }));
  }

  it('validator: its answers are those that the local network was made for', async () => {
    const answers = await answersOf(node.url);
    if (process.argv.includes('--record')) await writeFile(recordedAnswers, `${JSON.stringify(answers, null, 2)}\n`);
    assert.deepEqual(answers, JSON.parse(await readFile(recordedAnswers, 'utf8')));
  });

  it('validator: transfers sent at once are confirmed once each, at the fee that the records name', async (test) => {
    const engine = await startEngine(test, { key: nextKey(), urls: [node.url] });
    const to = solanaKey().address;
    const count = isLong ? 5_000 : 200;
    const ids = await sendMany(engine, to, count);
    let spent = 0n;
    for (const id of ids) spent += BigInt((await readBack(node, engine, await untilConfirmed(engine, id))).meta.fee);
    assert.equal(await balanceOf(node, to), paidBy(count));
    assert.equal(await balanceOf(node, engine.key.address), 10_000n * sol - paidBy(count) - spent);
  });

  it('validator: wire transactions, legacy and version 0, with a lookup table, a price, and another signer', async (test) => {
    const engine = await startEngine(test, { key: nextKey(), urls: [node.url] });
    const payer = engine.key.address;
    const to = solanaKey().address;
    const blockhash = await newestBlockhash();
    const build = async (version: 'legacy' | 0, more: Parameters<typeof buildTransaction>[0]['instructions']): Promise<string> => {
      const instructions = [transferOf(address(payer), address(to), 3_000_000n), ...more];
      return base64From(await buildTransaction({ payer: address(payer), instructions, blockhash, version, signers: [] }));
    };
    const looking: Message = {
      version: 0,
      signers: 1,
      readonlySigners: 0,
      readonlyOthers: 1,
      accounts: [address(payer), systemProgram] as Address[],
      blockhash,
      instructions: [
        { program: 1, accounts: [0, 2], data: new Uint8Array(Buffer.from(transferInstruction(payer, to, 4_000_000n).data, 'base64')) },
      ],
      tables: [{ table: table.address, writable: [0], readonly: [] }],
    };
    const transactions = [
      await build('legacy', []),
      await build(0, []),
      await build('legacy', [unitPriceOf(5_000n)]),
      await build(0, [unitLimitOf(1_000), unitPriceOf(7_000n)]),
      base64From(transactionBytes([new Uint8Array(64)], messageBytes(looking))),
      await signedByOther(payer, 5_000_000n, blockhash),
    ];
    const ids: string[] = [];
    for (const transaction of transactions) ids.push(await send(engine, { transaction }));
    const landed = [];
    for (const id of ids) landed.push(await readBack(node, engine, await untilConfirmed(engine, id)));
    assert.deepEqual(landed.map(({ message }) => computeBudgetOf(message).unitPriceMicroLamports).slice(2, 4), [5_000n, 7_000n]);
    assert.equal(await balanceOf(node, to), 12_000_000n);
    assert.equal(await balanceOf(node, behindTable), 4_000_000n);
  });

  it('validator: a token transfer lands, and one of more tokens than there are fails with the log of the program', async (test) => {
    const engine = await startEngine(test, { key: tokenOwner, urls: [node.url] });
    const tokens = (amount: bigint) => ({ instructions: [tokenTransfer(tokensFrom, tokensTo, tokenOwner.address, amount)] });
    const first = await send(engine, tokens(400n));
    const { message, meta } = await readBack(node, engine, await untilConfirmed(engine, first));
    const { unitLimit } = computeBudgetOf(message);
    assert.ok(unitLimit !== null && unitLimit < 4 * meta.computeUnitsConsumed, `${unitLimit} of ${meta.computeUnitsConsumed} units`);
    const tooMuch = await untilFinal(engine, await send(engine, tokens(601n)));
    assert.deepEqual([tooMuch.status, tooMuch.failureReason], ['failed', 'would_revert']);
    assert.match(tooMuch.statusReason ?? '', /instruction 0 failed with program error 1 \(0x1\).*insufficient funds/);
    // Only one of them can have its tokens: the other fails in the simulation or on chain.
    const both = [await send(engine, tokens(600n)), await send(engine, tokens(600n))];
    const ends = await Promise.all(both.map((id) => untilFinal(engine, id)));
    assert.deepEqual(ends.map(({ status }) => status).toSorted(), ['confirmed', 'failed']);
    for (const end of ends) if (end.mined !== null) await readBack(node, engine, end);
  });

  it('validator: a transaction with too low a limit of its own fails with the cause', async (test) => {
    const engine = await startEngine(test, { key: nextKey(), urls: [node.url] });
    const payer = address(engine.key.address);
    const instructions = [unitLimitOf(200), transferOf(payer, other.address, 5n), transferOf(payer, other.address, 5n)];
    const built = await buildTransaction({ payer, instructions, blockhash: await newestBlockhash(), signers: [] });
    const { status, statusReason } = await untilFinal(engine, await send(engine, { transaction: base64From(built) }));
    assert.equal(status, 'failed');
    assert.match(statusReason ?? '', /ComputationalBudgetExceeded|exceeded CUs/i);
  });

  it('validator: identical content is paid once per send, and an identical signed transaction once', async (test) => {
    const engine = await startEngine(test, { key: nextKey(), urls: [node.url] });
    const payer = engine.key.address;
    const to = solanaKey().address;
    const twice = [transferInstruction(payer, to, 3_000_000n)];
    const ids = [await send(engine, { instructions: twice }), await send(engine, { instructions: twice })];
    const transaction = await signedByOther(payer, 6_000_000n, await newestBlockhash());
    const [first, second] = [await send(engine, { transaction }), await send(engine, { transaction })];
    for (const id of [...ids, first]) await readBack(node, engine, await untilConfirmed(engine, id));
    assert.equal(await balanceOf(node, to), 6_000_000n);
    const { status, mined } = await untilFinal(engine, second);
    assert.deepEqual([status, mined], ['failed', null]);
  });

  it('validator: a transaction that others signed for an expired blockhash fails', async (test) => {
    const engine = await startEngine(test, { key: nextKey(), urls: [node.url] });
    // A busy validator leaves slots without a block.
    const oldest = await waitFor('a final block', async () => (await node.rpc<number[]>('getBlocks', [1]))[0], finalWithinMs);
    const { blockhash } = await node.rpc<{ blockhash: string }>('getBlock', [oldest, { transactionDetails: 'none', rewards: false }]);
    const expired = await signedByOther(engine.key.address, 5_000_000n, blockhash);
    await waitFor(
      'the blockhash to expire',
      async () => ((await node.rpc<{ value: boolean }>('isBlockhashValid', [blockhash])).value ? undefined : true),
      finalWithinMs,
    );
    const { status, failureReason } = await untilFinal(engine, await send(engine, { transaction: expired }));
    assert.deepEqual([status, failureReason], ['failed', 'outdated']);
  });

  it('validator: an attempt that no leader got is proved dead, signed again and paid once', async (test) => {
    let isSwallowing = true;
    const swallow = async (request: AskedRequest) => {
      if (!isSwallowing || request.calls.every(({ method }) => method !== 'sendTransaction')) return passedOn(node, request);
      const answers = request.calls.map(({ id, params }) => {
        const { signatures } = transactionFromBytes(Buffer.from(String(params[0]), 'base64'));
        return { jsonrpc: '2.0', id, result: signatures.length > 0 ? swallowed : null };
      });
      return { body: JSON.stringify(request.isBatch ? answers : answers[0]) };
    };
    // Two: an only one would have to prove it twice, minutes apart.
    const urls = [(await startFakeNode(test, swallow)).url, (await startFakeNode(test, swallow)).url];
    const engine = await startEngine(test, { key: nextKey(), urls });
    const to = solanaKey().address;
    const id = await send(engine, { instructions: [transferInstruction(engine.key.address, to, 3_000_000n)] });
    await waitFor('two attempts', async () => ((await engine.attempts(id)).length >= 2 ? true : undefined), finalWithinMs);
    isSwallowing = false;
    await readBack(node, engine, await untilConfirmed(engine, id));
    assert.equal(await balanceOf(node, to), 3_000_000n);
  });

  it('validator: a service that is killed midway pays each transaction once, and its RPC serves @solana/kit', async (test) => {
    const home = await createEd25519Home({ network: 'solana', rpcUrls: [node.url] });
    test.after(() => home.remove());
    const airdrop = await node.rpc<string>('requestAirdrop', [home.address, Number(100n * sol)]);
    await waitFor(`the airdrop ${airdrop}`, async () => ((await balanceOf(node, home.address)) > 0n ? true : undefined), finalWithinMs);
    let service = await startService(home);
    test.after(() => service.stop());
    const client = (): SolanaClient => createRelayerClient<SolanaRecord>(service.baseUrl) as SolanaClient;
    const to = solanaKey().address;
    const ids: string[] = [];
    for (let index = 0; index < 20; index += 1) {
      const { record, text } = await client().send(paymentBody(home.address, to, 2_000_000n + BigInt(index)));
      assert.ok(record !== null, text);
      ids.push(record.id);
      if (index % 7 !== 5) continue;
      await service.kill();
      service = await startService(home);
    }
    for (const id of ids) {
      const record = await waitFor(
        `${id} to be final`,
        async () => {
          const seen = await client().get(id);
          return ['confirmed', 'failed'].includes(seen.status) ? seen : undefined;
        },
        finalWithinMs,
      );
      assert.equal(record.status, 'confirmed', record.status_reason ?? '');
    }
    assert.equal(await balanceOf(node, to), paidBy(20));

    const headers = { authorization: `Bearer ${apiKey}` };
    const transport = createDefaultRpcTransport({ url: `${service.baseUrl}/api/v1/relayers/r1/rpc`, headers });
    const kit = createSolanaRpcFromTransport(transport);
    assert.equal((await kit.getBalance(address(to), { commitment: 'confirmed' }).send()).value, paidBy(20));
    assert.equal(await kit.getGenesisHash().send(), await node.rpc('getGenesisHash'));
    assert.equal((await kit.isBlockhashValid((await kit.getLatestBlockhash().send()).value.blockhash).send()).value, true);
    const [newest] = await kit.getSignaturesForAddress(address(to), { limit: 1 }).send();
    assert.ok(newest !== undefined);
    const found = await kit.getTransaction(newest.signature, { encoding: 'json', maxSupportedTransactionVersion: 0 }).send();
    assert.equal(found?.meta?.err, null);
    await assert.rejects(kit.requestAirdrop(address(to), 1n as never).send());
  });
});

/** A busy validator may drop a connection. */
function passedOn(node: Validator, request: AskedRequest): Promise<FakeAnswer> {
  return relayed(node.url, request).catch(() => 'hang up');
}

/** The answer of a node to a transaction that it loses. */
const swallowed = '5'.repeat(87);

describe('solana-test-validator that ends', { skip }, () => {
  it('validator: what was sent survives a crash of the validator and is paid once; with another genesis block the relayer is disabled', async (test) => {
    const node = await startValidator(program ?? '', { accounts, args: quickBlocks });
    test.after(() => node.stop());
    const engine = await startEngine(test, { key: nextKey(), urls: [node.url] });
    const to = solanaKey().address;
    const before = await sendMany(engine, to, 20);
    await waitFor(
      'a broadcast',
      async () => ((await engine.view(before[0] ?? '')).transaction.sentAtMs === null ? undefined : true),
      finalWithinMs,
    );
    await node.crash('keep');
    // A validator that is killed can lose the history of its newest blocks, so the balance is the evidence.
    for (const id of before) await untilConfirmed(engine, id);
    assert.equal(await balanceOf(node, to), paidBy(20));
    await node.crash('reset');
    await waitFor(
      'the relayer to be disabled',
      () => (engine.directory.relayer(engine.relayer.id)?.disabledReason === null ? undefined : true),
      finalWithinMs,
    );
    const { status } = (await engine.send({ instructions: [transferInstruction(engine.key.address, to, 5_000_000n)] })).transaction;
    assert.equal(status, 'pending');
    assert.equal(await balanceOf(node, to), 0n);
  });
});

describe('solana-test-validator for long', { skip: notShort }, () => {
  it('validator: at its own pace, with epochs of 32 blocks, transfers are confirmed once each', async (test) => {
    const node = await startValidator(program ?? '', { accounts, args: ['--slots-per-epoch', '32'] });
    test.after(() => node.stop());
    const engine = await startEngine(test, { key: nextKey(), urls: [node.url] });
    const to = solanaKey().address;
    for (let epochs = 0; epochs < 3; epochs += 1) {
      const ids = await sendMany(engine, to, 50);
      for (const id of ids) await readBack(node, engine, await untilConfirmed(engine, id));
    }
    assert.equal(await balanceOf(node, to), 3n * paidBy(50));
  });
});

describe('solana-test-validator, for one test alone', { skip }, () => {
  it('validator: a relayer has 100 transfers a second mined, with at most 2.5 calls to the node for each', async (test) => {
    const node = await startValidator(program ?? '', { accounts });
    test.after(() => node.stop());
    const engine = await startEngine(test, { key: nextKey(), urls: [node.url] });
    const count = 1_000;
    const minedCount = () => [...engine.told.values()].filter((statuses) => statuses.includes('mined')).length;
    const before = engine.chain.calls().items;
    const sinceMs = performance.now();
    await sendMany(engine, solanaKey().address, count);
    await waitFor('all to be mined', () => minedCount() === count || undefined, finalWithinMs);
    const perSecond = (count * 1_000) / (performance.now() - sinceMs);
    const perSend = (engine.chain.calls().items - before) / count;
    const isBusy = (loadavg()[0] ?? 0) > availableParallelism();
    const figures = `${perSecond.toFixed(1)} a second, ${perSend.toFixed(2)} calls for each${isBusy ? ', on a busy machine' : ''}`;
    test.diagnostic(figures);
    assert.ok(perSend <= 2.5, figures);
    // What other programs leave of the processor says nothing about the service.
    assert.ok(perSecond >= (isBusy ? 10 : 100), figures);
  });
});
