import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { address, getAddressEncoder } from '@solana/kit';
import { lookupTableProgram } from '../../../src/chains/solana/address.js';
import { createSolanaChain } from '../../../src/chains/solana/solana-chain.js';
import { base64From, type Message, messageBytes, transactionBytes } from '../../../src/chains/solana/wire.js';
import type { Chain } from '../../../src/core/ports/chain/chain.js';
import type { Refusal } from '../../../src/core/ports/chain/drafts.js';
import type { AttemptOutcome } from '../../../src/core/ports/chain/outcomes.js';
import { onNetwork } from '../../../src/core/records/on-network.js';
import type { SolanaPolicies } from '../../../src/core/records/relayer.js';
import type { SolanaDraft, SolanaRequest } from '../../../src/core/records/solana.js';
import type { Attempt } from '../../../src/core/records/transaction.js';
import { systemClock } from '../../../src/core/work/clock.js';
import { newest } from '../../../src/sandbox/solana/chain.js';
import { transferOf } from '../../../src/sandbox/solana/instructions.js';
import { type AskedCall, relayed, startFakeNode } from '../../support/fake-node.js';
import { solanaKey, solanaRelayer, solanaRequest, transferInstruction } from '../../support/solana.js';
import { other, startSolanaChain, receiver as to } from '../../support/solana-chain-rig.js';
import { silentLog } from '../../support/stored-samples.js';

type Altered = (call: AskedCall, answer: never) => object | null;

/** Which endpoints there are besides the one that lies. `isLast`: it has the least weight. */
interface ChainOptions {
  readonly isAlone?: boolean;
  readonly second?: string;
  readonly more?: readonly string[];
  readonly isLast?: boolean;
}

/** A chain on the local cluster whose first endpoint answers some calls otherwise. The second, if there is one, is honest. */
async function chainWith(test: TestContext, url: string, payer: string, altered: Altered, options: ChainOptions = {}) {
  const { isAlone = false, second = url, more = [], isLast = false } = options;
  const lying = await startFakeNode(test, async (request) => {
    const answers = [JSON.parse((await relayed(url, request)).body)].flat();
    const items = answers.map((answer, at) => {
      const call = request.calls[at];
      const changed = call === undefined ? null : altered(call, answer as never);
      return changed === null ? answer : { jsonrpc: '2.0', id: answer.id, ...changed };
    });
    return { body: JSON.stringify(request.isBatch ? items : items[0]) };
  });
  const liar = { url: lying.url, weight: isLast ? 1 : 100 };
  const rpcUrls = [liar, ...(isAlone ? [] : [second, ...more].map((one) => ({ url: one, weight: 10 })))];
  const { network } = solanaRelayer(payer, {}, { rpcUrls, averageBlockTimeMs: 1 });
  assert.ok(network.type === 'solana');
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (_fields: object, message: string) => void warnings.push(message) };
  let passedMs = 0;
  const clock = { nowMs: () => systemClock.nowMs() + passedMs, elapsedMs: () => systemClock.elapsedMs() + passedMs };
  const chain = createSolanaChain({ network, rpcUrls, rpcTimeoutMs: 10_000, log, clock });
  test.after(() => chain.close());
  await chain.head();
  const draft = async (request: Partial<SolanaRequest>, policies: Partial<SolanaPolicies> = {}): Promise<SolanaDraft | Refusal> => {
    const relayer = solanaRelayer(payer, policies);
    const { content } = chain.contentOf(solanaRequest(request), { relayer, nowMs: Date.now(), earlier: null });
    const made = await chain.draft({ relayer, content, outbids: [], validUntilMs: null });
    return 'refused' in made ? made : onNetwork('solana', made);
  };
  function pass(ms: number): void {
    passedMs += ms;
  }

  return { chain, warnings, draft, lying, pass };
}

async function outcomeIn(chain: Chain, attempt: Attempt): Promise<AttemptOutcome | undefined> {
  return (await chain.unsequenced?.outcomes([attempt]))?.get(attempt.hash);
}

/** Changes the result's `value`. */
function withValue(answer: { readonly result: { readonly value: object } }, changes: object): object {
  return { result: { ...answer.result, value: { ...answer.result.value, ...changes } } };
}

describe('the word of one Solana node', () => {
  it('the word of one Solana node: too low a last height does not make an attempt dead while its blockhash is valid', async (test) => {
    const { solana, payer, signed } = await startSolanaChain(test);
    const lastHeight = () => Number(solana.chain.tip(newest).height) + 1;
    const { chain, draft } = await chainWith(test, solana.url, payer, ({ method }, answer) =>
      method === 'getLatestBlockhash' ? withValue(answer, { lastValidBlockHeight: lastHeight() }) : null,
    );
    solana.chain.pool.losesPackets = true;
    const made = await draft({ instructions: [transferInstruction(payer, to, 5n)] });
    assert.ok(!('refused' in made));
    const attempt = await signed(made);
    solana.chain.advance(60);
    await chain.head();
    for (let head = 0; head < 3; head += 1) assert.equal((await outcomeIn(chain, attempt))?.kind, 'open');
    solana.chain.advance(200);
    await chain.head();
    await outcomeIn(chain, attempt);
    assert.equal((await outcomeIn(chain, attempt))?.kind, 'dead');
  });

  it('the word of one Solana node: too low a last height does not make an attempt dead because another node lags', async (test) => {
    const { solana, payer, signed } = await startSolanaChain(test);
    const lagging = await solana.addNode();
    solana.chain.advance(60);
    let height = 0;
    const { chain, draft } = await chainWith(
      test,
      solana.url,
      payer,
      ({ method }, answer) => (method === 'getLatestBlockhash' ? withValue(answer, { lastValidBlockHeight: height }) : null),
      { second: lagging.url },
    );
    height = Number(solana.chain.tip(newest).height) + 1;
    solana.chain.pool.losesPackets = true;
    const made = await draft({ instructions: [transferInstruction(payer, to, 5n)] });
    assert.ok(!('refused' in made) && made.lastValidBlockHeight === BigInt(height));
    const attempt = await signed(made);
    lagging.condition.blocksBehind = 20;
    for (let block = 0; block < 80; block += 1) {
      solana.chain.advance(1);
      await chain.head();
      assert.equal((await outcomeIn(chain, attempt))?.kind, 'open', `after ${block + 1} blocks`);
    }
  });

  it('the word of one Solana node: too high a last height is no answer', async (test) => {
    const { solana, payer } = await startSolanaChain(test);
    const { draft } = await chainWith(test, solana.url, payer, ({ method }, answer) =>
      method === 'getLatestBlockhash' ? withValue(answer, { lastValidBlockHeight: 10 ** 9 }) : null,
    );
    const made = await draft({ instructions: [transferInstruction(payer, to, 5n)] });
    assert.ok(!('refused' in made) && made.lastValidBlockHeight < 1_000n, String(made));
  });

  it('the word of one Solana node: a result is final only if another node shows the same, or does not answer for a minute', async (test) => {
    const { solana, payer, sent, advance } = await startSolanaChain(test);
    const attempt = await sent({ instructions: [transferInstruction(payer, to, 5n)] });
    await advance();
    const status = { slot: Number(solana.chain.tip(newest).slot), confirmationStatus: 'finalized', confirmations: null };
    for (const [said, end] of [
      [{ ...status, err: null }, true],
      [{ ...status, err: 'AccountInUse' }, false],
    ] as const) {
      const lie: Altered = ({ method }) =>
        method === 'getSignatureStatuses' ? { result: { context: { slot: status.slot }, value: [said] } } : null;
      const { chain, warnings } = await chainWith(test, solana.url, payer, lie);
      const early = await outcomeIn(chain, attempt);
      assert.ok(early?.kind === 'landed' && !early.isFinal, 'no other node calls the block final');
      await advance(40);
      await chain.head();
      const late = await outcomeIn(chain, attempt);
      assert.ok(late?.kind === 'landed');
      assert.equal(late.isFinal, end);
      assert.equal(
        warnings.some((words) => words.includes('different results')),
        !end,
      );
    }
  });

  it('the word of one Solana node: a result is read elsewhere if the blocks of the node itself contradict it', async (test) => {
    const { solana, payer, sent, advance } = await startSolanaChain(test);
    const attempt = await sent({ instructions: [transferInstruction(payer, to, 5n)] });
    await advance();
    const slot = solana.chain.tip(newest).slot;
    const said = { slot: Number(slot) - 1, confirmationStatus: 'finalized', confirmations: null, err: null };
    const { chain } = await chainWith(test, solana.url, payer, ({ method }) =>
      method === 'getSignatureStatuses' ? { result: { context: { slot: Number(slot) }, value: [said] } } : null,
    );
    await advance(40);
    await chain.head();
    const outcome = await outcomeIn(chain, attempt);
    assert.ok(outcome?.kind === 'landed' && outcome.isFinal);
    assert.equal(outcome.receipt.blockNumber, slot);
  });

  for (const [what, showsItself, end] of [
    ['is final by the result that its own answers about the transaction show', true, true],
    ['is disputed if it does not show the transaction at all', false, false],
  ] as const)
    it(`the word of one Solana node: a result that the node of the head never shows ${what}`, async (test) => {
      const { solana, payer, sent, advance } = await startSolanaChain(test);
      const attempt = await sent({ instructions: [transferInstruction(payer, to, 5n)] });
      await advance();
      const lie: Altered = ({ method }, answer: { readonly result: { readonly context: object } }) => {
        if (method === 'getTransaction') return showsItself ? null : { result: null };
        return method === 'getSignatureStatuses' ? { result: { context: answer.result.context, value: [null] } } : null;
      };
      const { chain, pass } = await chainWith(test, solana.url, payer, lie as Altered);
      await advance(40);
      await chain.head();
      assert.equal((await outcomeIn(chain, attempt))?.kind, 'open');
      pass(15_000);
      const outcome = await outcomeIn(chain, attempt);
      assert.ok(outcome?.kind === 'landed');
      assert.deepEqual([outcome.isFinal, outcome.isDisputed === true], [end, !end]);
    });

  it('the word of one Solana node: a result that the node of the head never calls final counts after a minute by another one', async (test) => {
    const { solana, payer, sent, advance } = await startSolanaChain(test);
    const attempt = await sent({ instructions: [transferInstruction(payer, to, 5n)] });
    await advance();
    const slot = Number(solana.chain.tip(newest).slot);
    const stale = { slot, confirmationStatus: 'confirmed', confirmations: 1, err: null };
    const { chain, pass } = await chainWith(test, solana.url, payer, ({ method }) =>
      method === 'getSignatureStatuses' ? { result: { context: { slot }, value: [stale] } } : null,
    );
    const seen: unknown[] = [];
    for (const seconds of [0, 20, 20, 40, 40]) {
      pass(seconds * 1_000);
      await advance(40);
      await chain.head();
      const outcome = await outcomeIn(chain, attempt);
      assert.ok(outcome?.kind === 'landed');
      seen.push(outcome.isFinal);
    }
    assert.deepEqual(seen, [false, false, false, false, true]);
  });

  it('the word of one Solana node: a result that another node contradicts is disputed', async (test) => {
    const { solana, payer, sent, advance } = await startSolanaChain(test);
    const attempt = await sent({ instructions: [transferInstruction(payer, to, 5n)] });
    await advance();
    const said = { slot: Number(solana.chain.tip(newest).slot), confirmationStatus: 'finalized', confirmations: null, err: 'AccountInUse' };
    const { chain } = await chainWith(test, solana.url, payer, ({ method }) =>
      method === 'getSignatureStatuses' ? { result: { context: { slot: said.slot }, value: [said] } } : null,
    );
    await advance(40);
    await chain.head();
    const outcome = await outcomeIn(chain, attempt);
    assert.ok(outcome?.kind === 'landed' && !outcome.isFinal && outcome.isDisputed === true);
  });

  for (const [what, isInBlock, keepsHistory] of [
    ['never saw, as its history shows', false, true],
    ['never saw, and keeps no history', false, false],
    ['has in a block that is not final', true, true],
  ] as const)
    it(`the word of one Solana node: a final result is never final if it is of a transaction that another node ${what}`, async (test) => {
      const { solana, payer, sent, advance } = await startSolanaChain(test);
      solana.chain.pool.losesPackets = !isInBlock;
      const attempt = await sent({ instructions: [transferInstruction(payer, to, 5n)] });
      await advance();
      const { slot } = solana.chain.tip(newest);
      solana.node.condition.keepsHistory = keepsHistory;
      const said = { slot: Number(slot), confirmationStatus: 'finalized', confirmations: null, err: null };
      const honest = await startFakeNode(test, async (request) => {
        const { body } = await relayed(solana.url, request);
        return { body: body.replaceAll('"finalized"', '"confirmed"') };
      });
      const lie: Altered = ({ method }) =>
        method === 'getSignatureStatuses' ? { result: { context: { slot: said.slot }, value: [said] } } : null;
      const { chain, warnings, pass } = await chainWith(test, honest.url, payer, lie);
      for (let round = 0; round < 5; round += 1) {
        await advance(25);
        await chain.head();
        const outcome = await outcomeIn(chain, attempt);
        assert.ok(outcome?.kind === 'landed' && !outcome.isFinal, `round ${round}`);
        pass(30_000);
      }
      assert.ok(warnings.some((words) => words.includes('different results')));
    });

  for (const [what, secondsOld, end] of [
    ['that follows the chain below its block makes it disputed', 0, 'disputed'],
    ['whose newest block is minutes old leaves it to the first one', 200, 'final'],
  ] as const)
    it(`the word of one Solana node: a final result of a node that jumps ahead: another one ${what}`, async (test) => {
      const { solana, payer, signed, drafted, advance } = await startSolanaChain(test);
      await advance(40);
      const attempt = await signed(await drafted({ instructions: [transferInstruction(payer, to, 5n)] }));
      const slot = Number(solana.chain.tip(newest).slot) + 100;
      const said = { slot, confirmationStatus: 'finalized', confirmations: null, err: null };
      const lie: Altered = (
        { method },
        { result }: { readonly result: { readonly absoluteSlot: number; readonly blockHeight: number } },
      ) => {
        if (method === 'getSlot') return { result: Number(result) + 400 };
        if (method === 'getEpochInfo')
          return { result: { absoluteSlot: result.absoluteSlot + 400, blockHeight: result.blockHeight + 400 } };
        return method === 'getSignatureStatuses' ? { result: { context: { slot: slot + 10 }, value: [said] } } : null;
      };
      const honest = await startFakeNode(test, async (request) => {
        const { body } = await relayed(solana.url, request);
        if (request.calls[0]?.method !== 'getBlockTime') return { body };
        return { body: body.replace(/"result":(\d+)/, (_, at: string) => `"result":${Number(at) - secondsOld}`) };
      });
      const { chain, pass } = await chainWith(test, solana.url, payer, lie, { second: honest.url });
      const seen: unknown[] = [];
      for (let round = 0; round < 4; round += 1) {
        await advance();
        await chain.head();
        const outcome = await outcomeIn(chain, attempt);
        assert.ok(outcome?.kind === 'landed');
        seen.push(outcome.isFinal ? 'final' : outcome.isDisputed === true ? 'disputed' : 'waiting');
        pass(25_000);
      }
      assert.deepEqual(seen, ['waiting', 'waiting', 'waiting', end]);
    });

  it('the word of one Solana node: a final result in a block that no node can have yet is no answer', async (test) => {
    const { solana, payer, sent, advance } = await startSolanaChain(test);
    solana.chain.pool.losesPackets = true;
    const attempt = await sent({ instructions: [transferInstruction(payer, to, 5n)] });
    const said = { slot: 10 ** 6, confirmationStatus: 'finalized', confirmations: null, err: null };
    const { chain, pass } = await chainWith(test, solana.url, payer, ({ method }) =>
      method === 'getSignatureStatuses' ? { result: { context: { slot: 10 ** 6 }, value: [said] } } : null,
    );
    for (let round = 0; round < 4; round += 1) {
      await advance();
      await chain.head();
      const outcome = await outcomeIn(chain, attempt);
      assert.equal(outcome?.kind, 'open', `round ${round}`);
      pass(30_000);
    }
  });

  it('the word of one Solana node: a final result that no other node answers about counts after a minute', async (test) => {
    const { solana, payer, sent, advance } = await startSolanaChain(test);
    const silent = await startFakeNode(test, async (request) => {
      const isAsked = request.calls.some(({ method }) => method === 'getSignatureStatuses');
      return isAsked
        ? { body: '{"jsonrpc":"2.0","error":{"code":-32005,"message":"Node is unhealthy"},"id":1}' }
        : relayed(solana.url, request);
    });
    const attempt = await sent({ instructions: [transferInstruction(payer, to, 5n)] });
    await advance(40);
    const rpcUrls = [solana.url, silent.url].map((url, at) => ({ url, weight: 100 - at }));
    const { network } = solanaRelayer(payer, {}, { rpcUrls });
    assert.ok(network.type === 'solana');
    let passedMs = 0;
    const clock = { nowMs: systemClock.nowMs, elapsedMs: () => systemClock.elapsedMs() + passedMs };
    const chain = createSolanaChain({ network, rpcUrls, rpcTimeoutMs: 10_000, log: silentLog, clock });
    test.after(() => chain.close());
    await chain.head();
    for (const [ms, isFinal] of [
      [0, false],
      [30_000, false],
      [31_000, true],
    ] as const) {
      passedMs += ms;
      const outcome = await outcomeIn(chain, attempt);
      assert.ok(outcome?.kind === 'landed');
      assert.equal(outcome.isFinal, isFinal, `after ${passedMs} ms`);
    }
  });

  it('the word of one Solana node: a node that invents its slot as well as the last height gives no attempt a longer life', async (test) => {
    const { solana, payer, built } = await startSolanaChain(test);
    const far = 10 ** 6;
    const inventing: Altered = ({ method }, answer: { readonly result: { readonly value: object } }) => {
      if (method === 'isBlockhashValid') return { result: { context: { slot: far }, value: true } };
      if (method !== 'getLatestBlockhash') return null;
      return { result: { context: { slot: far }, value: { ...answer.result.value, lastValidBlockHeight: far + 100 } } };
    };
    const own = { instructions: [transferInstruction(payer, to, 5n)] };
    const foreign = { transaction: await built([transferOf(other.address, to, 5n)], 0, [other]) };
    for (const request of [own, foreign]) {
      const { draft } = await chainWith(test, solana.url, payer, inventing as Altered);
      const made = await draft(request);
      assert.ok(!('refused' in made) && made.lastValidBlockHeight < 1_000n, String(Object.values(made)));
      const alone = await chainWith(test, solana.url, payer, inventing as Altered, { isAlone: true });
      await assert.rejects(alone.draft(request), { reason: 'NODE_UNAVAILABLE' });
    }
  });

  it('the word of one Solana node: a fee above the maximum, a missing lookup table, and an expired blockhash end nothing', async (test) => {
    const { solana, payer, built } = await startSolanaChain(test);
    const table = address(solanaKey().address);
    const header = Buffer.alloc(56);
    header.writeUInt32LE(1, 0);
    header.writeBigUInt64LE(2n ** 64n - 1n, 4);
    const data = new Uint8Array(Buffer.concat([header, Buffer.from(getAddressEncoder().encode(to))]));
    const signed = await built([transferOf(other.address, to, 5n)], 0, [other]);
    solana.chain.putAccount(table, { lamports: 10n ** 9n, owner: lookupTableProgram, data, executable: false });
    const transferData = new Uint8Array(Buffer.from(transferInstruction(payer, to, 5n).data, 'base64'));
    const looking: Message = {
      version: 0,
      signers: 1,
      readonlySigners: 0,
      readonlyOthers: 1,
      accounts: [payer, address('11111111111111111111111111111111')],
      blockhash: solana.chain.tip(newest).hash,
      instructions: [{ program: 1, accounts: [0, 2], data: transferData }],
      tables: [{ table, writable: [0], readonly: [] }],
    };
    const through = { transaction: base64From(transactionBytes([new Uint8Array(64)], messageBytes(looking))) };
    const restricted = { disallowedAccounts: [solana.url] };
    const rows: readonly (readonly [string, Altered, Partial<SolanaRequest>, Partial<SolanaPolicies>])[] = [
      [
        'fee',
        ({ method }, answer) => (method === 'simulateTransaction' ? withValue(answer, { fee: 10 ** 10 }) : null),
        { instructions: [transferInstruction(payer, to, 5n)] },
        {},
      ],
      [
        'table',
        ({ method }) => (method === 'getMultipleAccounts' ? { result: { context: { slot: 9 }, value: [null] } } : null),
        through,
        restricted,
      ],
      [
        'table that a simulation lacks',
        ({ method }) =>
          method === 'simulateTransaction' ? { error: { code: -32602, message: 'invalid transaction: table not found' } } : null,
        through,
        restricted,
      ],
    ];
    for (const [name, lie, request, policies] of rows) {
      const { draft, pass } = await chainWith(test, solana.url, payer, lie);
      await draft(request, policies);
      pass(20_000);
      const made = await draft(request, policies);
      assert.ok(!('refused' in made), `${name}: ${JSON.stringify(made, (_, part) => (typeof part === 'bigint' ? String(part) : part))}`);
      const alone = await chainWith(test, solana.url, payer, lie, { isAlone: true });
      const first = await alone.draft(request, policies);
      assert.ok('refused' in first && !first.lasting, `${name}: the only node is not believed at once`);
    }
    const denied = await chainWith(test, solana.url, payer, ({ method }) =>
      method === 'isBlockhashValid' ? { result: { context: { slot: 9 }, value: false } } : null,
    );
    const first = await denied.draft({ transaction: signed });
    assert.ok('refused' in first && first.refused === 'outdated' && !first.lasting);
    denied.pass(10_000);
    const second = await denied.draft({ transaction: signed });
    assert.ok(!('refused' in second), String(Object.values(second)));
  });

  it('the word of one Solana node: the fee that was paid is read from the block, once for all whose messages imply it', async (test) => {
    const { solana, payer, sent, advance } = await startSolanaChain(test);
    const attempts: Attempt[] = [];
    for (let amount = 1n; amount <= 12n; amount += 1n)
      attempts.push(await sent({ instructions: [transferInstruction(payer, to, amount)] }));
    await advance(40);
    const feesBy = async (lie: Altered, options: { isAlone?: boolean } = {}) => {
      const { chain, lying, warnings } = await chainWith(test, solana.url, payer, lie, options);
      const outcomes = await chain.unsequenced?.outcomes(attempts);
      const fees = attempts.map(({ hash }) => {
        const outcome = outcomes?.get(hash);
        return outcome?.kind === 'landed' && outcome.isFinal ? outcome.receipt.facts?.feePaid : null;
      });
      return { fees: new Set(fees), asked: lying.methods.filter((method) => method === 'getTransaction').length, warnings };
    };
    const honest = await feesBy(() => null);
    assert.deepEqual([honest.fees, honest.asked], [new Set([5_000n]), 1]);
    const raised: Altered = ({ method }, answer: { readonly result: { readonly meta: object } }) =>
      method === 'getTransaction' ? { result: { ...answer.result, meta: { ...answer.result.meta, fee: 7_000 } } } : null;
    const doubted = await feesBy(raised as Altered);
    assert.deepEqual(doubted.fees, new Set([5_000n]));
    assert.ok(doubted.warnings.some((words) => words.includes('no other one confirms')));
    assert.deepEqual((await feesBy(raised as Altered, { isAlone: true })).fees, new Set([7_000n]));
    const silent = await feesBy(({ method }) => (method === 'getTransaction' ? { result: null } : null), { isAlone: true });
    assert.deepEqual(silent.fees, new Set([5_000n]));
  });

  for (const honest of [1, 2])
    it(`the word of one Solana node: a low lifetime and a false denial of one do not make an attempt dead while ${honest} others know its blockhash`, async (test) => {
      const { solana, payer, signed } = await startSolanaChain(test);
      solana.chain.advance(200);
      let isHead = true;
      const lie: Altered = ({ method }, answer: { readonly result: { readonly value: { readonly lastValidBlockHeight: number } } }) => {
        const { value } = answer.result ?? {};
        if (method === 'getLatestBlockhash' && isHead)
          return { result: { ...answer.result, value: { ...value, lastValidBlockHeight: value.lastValidBlockHeight - 147 } } };
        if (method === 'isBlockhashValid') return { result: { ...answer.result, value: false } };
        if (isHead || !['getEpochInfo', 'getSlot'].includes(method)) return null;
        return { error: { code: -32005, message: 'Node is unhealthy' } };
      };
      const more = honest === 2 ? [(await solana.addNode()).url] : [];
      const { chain, draft, pass } = await chainWith(test, solana.url, payer, lie as Altered, { more });
      const made = await draft({ instructions: [transferInstruction(payer, to, 5n)] });
      assert.ok(!('refused' in made));
      const attempt = await signed(made);
      isHead = false;
      for (let round = 0; round < 11; round += 1) {
        solana.chain.advance(10);
        pass(10_000);
        await chain.head();
        assert.equal((await outcomeIn(chain, attempt))?.kind, 'open', `after ${(round + 1) * 10} blocks`);
      }
    });

  it('the word of one Solana node: a slot of the draft that is too low does not make an attempt dead while the chain stands still', async (test) => {
    const { solana, payer, signed } = await startSolanaChain(test);
    solana.chain.advance(400);
    let isShifted = true;
    const lowered = (value: unknown): unknown => {
      if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
      const members = Object.entries(value).map(
        ([name, member]) => [name, ['slot', 'absoluteSlot'].includes(name) ? Number(member) - 300 : lowered(member)] as const,
      );
      return Object.fromEntries(members);
    };
    const lie: Altered = (_, answer: unknown) => (isShifted ? (lowered(answer) as { result: unknown }) : null);
    const { chain, draft, pass } = await chainWith(test, solana.url, payer, lie as Altered);
    await chain.head();
    const made = await draft({ instructions: [transferInstruction(payer, to, 5n)] });
    assert.ok(!('refused' in made));
    const attempt = await signed(made);
    const { slot } = solana.chain.tip({ ...newest, commitment: 'confirmed' });
    assert.equal(onNetwork('solana', attempt.fields).sinceSlot, slot - 300n);
    isShifted = false;
    // Its blockhash is not final for as long as no block follows, so each node denies it at its finalized block.
    for (let round = 0; round < 8; round += 1) {
      pass(30_000);
      await chain.head();
      assert.equal((await outcomeIn(chain, attempt))?.kind, 'open', `after ${(round + 1) * 30} seconds`);
    }
  });

  it('the word of one Solana node: what another one has called final is not dead by the only one that keeps history', async (test) => {
    const { solana, payer, signed, drafted } = await startSolanaChain(test);
    solana.chain.advance(200);
    let hash = '';
    const none = { error: { code: -32011, message: 'Transaction history is not available from this node' } };
    const hides: Altered = (
      { method },
      answer: { readonly result: { readonly value: readonly unknown[]; readonly signatures: string[] } },
    ) => {
      const { result } = answer;
      if (method === 'getSignatureStatuses') return { result: { ...result, value: result.value.map(() => null) } };
      if (method === 'getBlock' && result) return { result: { ...result, signatures: result.signatures.filter((one) => one !== hash) } };
      return method === 'getTransaction' ? { result: null } : null;
    };
    const bare = await startFakeNode(test, async (request) => {
      const answers = [JSON.parse((await relayed(solana.url, request)).body)].flat();
      const items = answers.map((answer, at) => {
        const { method = '', params = [] } = request.calls[at] ?? {};
        const isHistory = ['getBlock', 'getBlocksWithLimit', 'getTransaction'].includes(method);
        const isSearch = method === 'getSignatureStatuses' && JSON.stringify(params[1]).includes('true');
        return isHistory || isSearch ? { jsonrpc: '2.0', id: answer.id, ...none } : answer;
      });
      return { body: JSON.stringify(request.isBatch ? items : items[0]) };
    });
    const { chain, pass } = await chainWith(test, solana.url, payer, hides as Altered, { second: bare.url });
    const attempt = await signed(await drafted({ instructions: [transferInstruction(payer, to, 5n)] }));
    hash = attempt.hash;
    await chain.broadcastAll([attempt.raw]);
    for (let round = 0; round < 60; round += 1) {
      solana.chain.advance(10);
      pass(10_000);
      await chain.head();
      assert.notEqual((await outcomeIn(chain, attempt))?.kind, 'dead', `after ${(round + 1) * 10} blocks`);
    }
  });

  it('the word of one Solana node: an attempt that only one shows, and never as final, is disputed', async (test) => {
    const { solana, payer, signed, drafted } = await startSolanaChain(test);
    const attempt = await signed(await drafted({ instructions: [transferInstruction(payer, to, 5n)] }));
    const slot = Number(solana.chain.tip(newest).slot);
    const said = { slot, confirmationStatus: 'confirmed', confirmations: 1, err: null };
    for (const isHead of [true, false]) {
      const lying = await chainWith(
        test,
        solana.url,
        payer,
        ({ method }, answer: { readonly result: object }) =>
          method === 'getSignatureStatuses' ? { result: { ...answer.result, value: [said] } } : null,
        { isLast: !isHead },
      );
      let last: AttemptOutcome | undefined;
      for (let round = 0; round < 12; round += 1) {
        solana.chain.advance(10);
        lying.pass(10_000);
        await lying.chain.head();
        last = await outcomeIn(lying.chain, attempt);
      }
      assert.ok(last?.kind === 'landed' && !last.isFinal && last.isDisputed === true, `${isHead}`);
    }
  });
});
