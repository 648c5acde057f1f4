import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, afterEach, before, beforeEach, describe, it, type TestContext } from 'node:test';
import { AbiCoder, computeAddress } from 'ethers';
import { createEvmChain, type EvmChain } from '../../../src/chains/evm/evm-chain.js';
import { DomainError } from '../../../src/core/errors/errors.js';
import type { Refusal } from '../../../src/core/ports/chain/drafts.js';
import type { Secp256k1Signer } from '../../../src/core/ports/signer.js';
import type { EvmContent, EvmDraft } from '../../../src/core/records/evm.js';
import type { EvmNetwork } from '../../../src/core/records/network.js';
import type { Attempt } from '../../../src/core/records/transaction.js';
import { createLocalSigner } from '../../../src/signers/local/local-signer.js';
import { type Anvil, anvilKeys, startAnvil } from '../../support/anvil.js';
import {
  attemptOf,
  broadcastOne,
  contractOf,
  contractThat,
  draftRequest,
  evmContent,
  evmNetwork,
  evmPolicies,
  evmRelayer,
  receiptOf,
  rememberingLog,
} from '../../support/evm.js';
import { answering, FakeError, relayed, startFakeNode } from '../../support/fake-node.js';

const gwei = 10n ** 9n;
const signer: Secp256k1Signer = createLocalSigner({ id: 'test', privateKey: Buffer.from(anvilKeys[0].slice(2), 'hex') });
const account = signer.address;
const receiver = computeAddress(anvilKeys[1]);
const chains: EvmChain[] = [];
let anvil: Anvil;
let snapshot: unknown;

before(async () => {
  anvil = await startAnvil({ noMining: true });
});
after(() => anvil.stop());
beforeEach(async () => {
  snapshot = await anvil.rpc('evm_snapshot');
});
afterEach(async () => {
  await Promise.all(chains.splice(0).map((chain) => chain.close()));
  await anvil.rpc('anvil_dropAllTransactions');
  await anvil.rpc('evm_revert', [snapshot]);
});

function openChain(changes: Partial<EvmNetwork> = {}, ...urls: readonly string[]): EvmChain {
  const network = evmNetwork(changes);
  const rpcUrls = (urls.length === 0 ? [anvil.url] : urls).map((url, index) => ({ url, weight: 100 - index }));
  const chain = createEvmChain({ network, rpcUrls, rpcTimeoutMs: 5000, log: rememberingLog() });
  chains.push(chain);
  return chain;
}

async function drafted(
  chain: EvmChain,
  content: Partial<EvmContent> = {},
  changes: Parameters<typeof draftRequest>[1] = {},
): Promise<EvmDraft> {
  const draft = await chain.draft(draftRequest(account, { content: evmContent({ to: receiver, ...content }), ...changes }));
  assert.ok(!('refused' in draft), 'sentence' in draft ? draft.sentence : '');
  return draft;
}

async function refusal(chain: EvmChain, content: Partial<EvmContent>, changes: Parameters<typeof draftRequest>[1] = {}): Promise<Refusal> {
  const draft = await chain.draft(draftRequest(account, { content: evmContent({ to: receiver, ...content }), ...changes }));
  assert.ok('refused' in draft);
  return draft;
}

const lasting = ({ refused, lasting: isLasting }: Refusal) => [refused, isLasting];

async function sent(chain: EvmChain, draft: EvmDraft, nonce: bigint): Promise<Attempt> {
  const signed = await chain.sign(draft, nonce, signer);
  assert.deepEqual(await broadcastOne(chain, signed.raw), { kind: 'accepted' });
  return attemptOf(account, nonce, signed);
}

async function deployed(chain: EvmChain, code: string): Promise<string> {
  const nonce = await chain.sequence.nextOf(account);
  const attempt = await sent(chain, await drafted(chain, { to: null, valueWei: 0n, data: code }), nonce);
  await anvil.mine();
  const receipt = (await anvil.rpc('eth_getTransactionReceipt', [attempt.hash])) as { contractAddress: string };
  return receipt.contractAddress;
}

describe('EVM chain', () => {
  it('EVM chain: reports genesis, head, nonce, balance and known transactions', async () => {
    const chain = openChain();
    const genesis = (await anvil.rpc('eth_getBlockByNumber', ['0x0', false])) as Record<string, string>;
    assert.equal(await chain.genesisHash(), genesis.hash);
    assert.deepEqual(await chain.head(), {
      number: 0n,
      hash: genesis.hash,
      timestampMs: Number(genesis.timestamp) * 1000,
      endpoint: 0,
    });
    assert.equal(await chain.sequence.nextOf(account), 0n);
    assert.equal(await chain.balanceOf(receiver), 10_000n * 10n ** 18n);
    assert.equal(await chain.sequence.knows(`0x${'ab'.repeat(32)}`), false);
    assert.equal(await receiptOf(chain, `0x${'ab'.repeat(32)}`), null);
  });

  it('EVM chain: nodes accept one transaction in flight of an account with delegated code, and any number of others', async () => {
    const chain = openChain();
    assert.equal(await chain.sequence.maxInFlight(account), null);
    await anvil.rpc('anvil_setCode', [account, '0x6000']);
    assert.equal(await chain.sequence.maxInFlight(account), null);
    await anvil.rpc('anvil_setCode', [account, `0xef0100${'ab'.repeat(20)}`]);
    assert.equal(await chain.sequence.maxInFlight(account), 1);
  });

  it('EVM chain: throws NODE_UNAVAILABLE if no node answers', async () => {
    const chain = createEvmChain({ network: evmNetwork(), rpcUrls: [], rpcTimeoutMs: 100, log: rememberingLog() });
    const isUnavailable = (error: unknown): boolean => error instanceof DomainError && error.reason === 'NODE_UNAVAILABLE';
    await assert.rejects(chain.head(), isUnavailable);
    await assert.rejects(chain.draft(draftRequest(account)), isUnavailable);
    assert.equal((await broadcastOne(chain, '0x00')).kind, 'unknown');
  });
});

describe('transaction', () => {
  it('EVM transaction: goes from draft to receipt as EIP-1559', async () => {
    const chain = openChain();
    const draft = await drafted(chain, { valueWei: 5n });
    assert.equal(draft.gasLimit, 23_100n);
    assert.equal(draft.price.kind, 'eip1559');
    const attempt = await sent(chain, draft, 0n);
    assert.equal(await chain.sequence.knows(attempt.hash), true);
    assert.equal(await receiptOf(chain, attempt.hash), null);
    assert.equal(await chain.sequence.nextOf(account), 0n);
    await anvil.mine();
    const head = await chain.head();
    assert.deepEqual(await receiptOf(chain, attempt.hash), {
      hash: attempt.hash,
      blockNumber: head.number,
      blockHash: head.hash,
      succeeded: true,
      facts: { gasUsed: 21_000n, feePaid: 10_000n * 10n ** 18n - 5n - (await chain.balanceOf(account)), returnValueXdr: null },
    });
    assert.equal(await chain.sequence.nextOf(account), 1n);
    assert.equal(await chain.balanceOf(receiver), 10_000n * 10n ** 18n + 5n);
  });

  it('EVM transaction: is legacy if the network, the policy or the caller requires it', async () => {
    const legacyPolicy = { policies: evmPolicies({ eip1559Pricing: false }) };
    const attempts = [
      await sent(openChain({ eip1559: false }), await drafted(openChain({ eip1559: false })), 0n),
      await sent(openChain(), await drafted(openChain(), {}, legacyPolicy), 1n),
      await sent(openChain(), await drafted(openChain(), { pricing: { kind: 'legacy', gasPriceWei: 5n * gwei } }), 2n),
    ];
    await anvil.mine();
    for (const attempt of attempts) {
      const mined = (await anvil.rpc('eth_getTransactionByHash', [attempt.hash])) as { type: string; from: string };
      assert.deepEqual([mined.type, mined.from], ['0x0', account.toLowerCase()]);
      assert.equal((await receiptOf(openChain(), attempt.hash))?.succeeded, true);
    }
  });

  it('EVM transaction: creates a contract', async () => {
    const chain = openChain();
    const contract = await deployed(chain, contractThat('returns', '0x1234'));
    assert.equal(await anvil.rpc('eth_call', [{ to: contract }, 'latest']), '0x1234');
  });

  it('EVM transaction: is known if sent again, and nonce_used once mined', async () => {
    const chain = openChain();
    const attempt = await sent(chain, await drafted(chain), 0n);
    assert.deepEqual(await broadcastOne(chain, attempt.raw), { kind: 'known' });
    await anvil.mine();
    assert.deepEqual(await broadcastOne(chain, attempt.raw), { kind: 'nonce_used' });
  });

  it('EVM transaction: is classified by the node’s rejection', async () => {
    const chain = openChain();
    const broadcast = async (draft: EvmDraft): Promise<string> =>
      (await broadcastOne(chain, (await chain.sign(draft, 0n, signer)).raw)).kind;
    const draft = await drafted(chain);
    assert.equal(await broadcast({ ...draft, valueWei: 10n ** 24n }), 'wait');
    assert.equal(await broadcast({ ...draft, price: { kind: 'legacy', gasPriceWei: 1n } }), 'wait');
    assert.equal(await broadcast({ ...draft, gasLimit: 20_000n }), 'wait');
    const live = await drafted(chain, { pricing: { kind: 'legacy', gasPriceWei: 9n * gwei } });
    await sent(chain, live, 0n);
    assert.equal(await broadcast({ ...live, valueWei: 7n }), 'underpriced');
    assert.equal((await broadcastOne(chain, '0x02')).kind, 'unknown');
  });
});

/** Starts a proxy of anvil that reports these prices, as hex. */
async function nodeWithPrices(
  test: TestContext,
  { tips, suggested, baseFee = '0x1', gasPrice }: { tips: string; suggested: unknown; baseFee?: string; gasPrice?: string },
) {
  return startFakeNode(test, async (request) => {
    const [asked] = request.calls;
    const answers: Record<string, unknown> = {
      eth_feeHistory: { oldestBlock: '0x0', baseFeePerGas: [baseFee, baseFee], reward: [[tips, tips, tips, tips]] },
      eth_maxPriorityFeePerGas: suggested,
      ...(gasPrice === undefined ? {} : { eth_gasPrice: gasPrice }),
    };
    const answer = answers[asked?.method ?? ''];
    if (answer !== undefined) return answering(request, () => answer);
    const reply = await relayed(anvil.url, request);
    // The base fee stands in the newest block.
    return { ...reply, body: reply.body.replace(/"baseFeePerGas":"0x[0-9a-f]+"/g, `"baseFeePerGas":"${baseFee}"`) };
  });
}

describe('prices', () => {
  it('prices: rise with the speed', async () => {
    for (const eip1559 of [true, false]) {
      const chain = openChain({ eip1559 });
      const costs: bigint[] = [];
      for (const speed of ['safeLow', 'average', 'fast', 'fastest'] as const) {
        const { price } = await drafted(chain, { pricing: { kind: 'speed', speed } });
        costs.push(price.kind === 'legacy' ? price.gasPriceWei : price.maxFeePerGasWei);
      }
      assert.deepEqual(
        costs,
        costs.toSorted((a, b) => (a < b ? -1 : 1)),
      );
      assert.equal(new Set(costs).size, 4);
    }
  });

  it('prices: are twice the base fee plus the priority fee at the speed’s percentile', async () => {
    const chain = openChain();
    const tips = [1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n, 9n, 10n];
    for (const [nonce, tip] of tips.entries()) {
      const draft = await drafted(chain, {
        pricing: { kind: 'eip1559', maxFeePerGasWei: 100n * gwei, maxPriorityFeePerGasWei: tip * gwei },
      });
      await sent(chain, draft, BigInt(nonce));
    }
    await anvil.mine();
    await chain.head();
    const history = (await anvil.rpc('eth_feeHistory', ['0x4', 'latest', [30, 50, 85, 99]])) as {
      baseFeePerGas: string[];
      reward: string[][];
    };
    const base = BigInt(history.baseFeePerGas.at(-1) ?? 0);
    const [safeLow, , , fastest] = (history.reward.at(-1) ?? []).map(BigInt);
    assert.ok(safeLow !== undefined && fastest !== undefined && safeLow > 0n && safeLow < fastest);
    for (const [speed, tip] of [
      ['safeLow', safeLow],
      ['fastest', fastest],
    ] as const) {
      const { price } = await drafted(chain, { pricing: { kind: 'speed', speed } });
      assert.deepEqual(price, { kind: 'eip1559', maxFeePerGasWei: base * 2n + tip, maxPriorityFeePerGasWei: tip });
    }
  });

  it('prices: come from eth_gasPrice and the base fee of the head if no node has eth_feeHistory', async (test) => {
    const without = await startFakeNode(test, (request) =>
      request.calls.some(({ method }) => method === 'eth_feeHistory')
        ? answering(request, () => new FakeError(-32601, 'the method eth_feeHistory does not exist'))
        : relayed(anvil.url, request),
    );
    const chain = openChain({ averageBlockTimeMs: 12_000 }, without.url);
    await anvil.mine();
    await chain.head();
    const { baseFeePerGas } = (await anvil.rpc('eth_getBlockByNumber', ['latest', false])) as { baseFeePerGas: string };
    const base = BigInt(baseFeePerGas);
    const suggested = BigInt(String(await anvil.rpc('eth_gasPrice'))) - base;
    assert.ok(suggested > 0n);
    for (const [speed, percent] of [
      ['safeLow', 100n],
      ['fastest', 200n],
    ] as const) {
      const tip = (suggested * percent) / 100n;
      const { price } = await drafted(chain, { pricing: { kind: 'speed', speed } });
      assert.deepEqual(price, { kind: 'eip1559', maxFeePerGasWei: base * 2n + tip, maxPriorityFeePerGasWei: tip });
    }
    const { refused } = await refusal(chain, {}, { policies: evmPolicies({ gasPriceCapWei: base - 1n }) });
    assert.equal(refused, 'above_cap');
  });

  it('prices: pay the priority fee that the node suggests if recent blocks paid none', async (test) => {
    const quiet = await nodeWithPrices(test, { tips: '0x0', suggested: '0x5d21dba00' });
    for (const [speed, tip] of [
      ['safeLow', 25n * gwei],
      ['fastest', 50n * gwei],
    ] as const) {
      const { price } = await drafted(openChain({}, quiet.url), { pricing: { kind: 'speed', speed } });
      assert.ok(price.kind === 'eip1559' && price.maxPriorityFeePerGasWei === tip, speed);
    }
    const busy = await nodeWithPrices(test, { tips: '0x7', suggested: '0x5d21dba00' });
    const { price } = await drafted(openChain({}, busy.url));
    assert.ok(price.kind === 'eip1559' && price.maxPriorityFeePerGasWei === 7n);
    assert.ok(!busy.methods.includes('eth_maxPriorityFeePerGas'));
    const silent = await nodeWithPrices(test, { tips: '0x0', suggested: new FakeError(-32601, 'no such method') });
    const usual = (await drafted(openChain({}, silent.url))).price;
    assert.ok(usual.kind === 'eip1559' && usual.maxPriorityFeePerGasWei === (85n * gwei) / 100n);
  });

  it('prices: are 0 on a network that charges nothing, so an empty account can send', async (test) => {
    const free = await nodeWithPrices(test, { tips: '0x0', suggested: '0x3b9aca00', baseFee: '0x0', gasPrice: '0x0' });
    await anvil.rpc('anvil_setBalance', [account, '0x0']);
    const { price } = await drafted(openChain({}, free.url), { valueWei: 0n });
    assert.deepEqual(price, { kind: 'eip1559', maxFeePerGasWei: 0n, maxPriorityFeePerGasWei: 0n });
  });

  it('prices: are used without asking for the market if explicit and without a cap', async (test) => {
    const priceMethods = ['eth_feeHistory', 'eth_gasPrice', 'eth_maxPriorityFeePerGas'];
    const without = await startFakeNode(test, (request) =>
      request.calls.some(({ method }) => priceMethods.includes(method)) ? 'hang up' : relayed(anvil.url, request),
    );
    const pricing = { kind: 'eip1559', maxFeePerGasWei: 3n * gwei, maxPriorityFeePerGasWei: 7n } as const;
    assert.deepEqual((await drafted(openChain({}, without.url), { pricing })).price, pricing);
    assert.ok(without.methods.every((method) => !priceMethods.includes(method)));
  });

  it('prices: are used unchanged if explicit', async () => {
    const pricing = { kind: 'eip1559', maxFeePerGasWei: 3n * gwei, maxPriorityFeePerGasWei: 7n } as const;
    assert.deepEqual((await drafted(openChain(), { pricing })).price, pricing);
  });

  it('prices: are lowered to the cap, and refused while the base fee is above it', async () => {
    const chain = openChain();
    const capped = { policies: evmPolicies({ gasPriceCapWei: 2n * gwei }) };
    await anvil.rpc('anvil_setNextBlockBaseFeePerGas', ['0x77359400']);
    await anvil.mine();
    const { price } = await drafted(chain, {}, capped);
    assert.ok(price.kind === 'eip1559' && price.maxFeePerGasWei === 2n * gwei);
    await anvil.rpc('anvil_setNextBlockBaseFeePerGas', ['0x8f0d1800']);
    await anvil.mine();
    await anvil.rpc('anvil_setNextBlockBaseFeePerGas', ['0x8f0d1800']);
    await chain.head();
    const { refused, sentence, lasting } = await refusal(chain, {}, capped);
    assert.deepEqual([refused, lasting], ['above_cap', false]);
    assert.match(sentence, /base fee 2\.4 gwei/);
  });
});

describe('drafts between two blocks', () => {
  it('drafts between two blocks: share their calls until the head moves', async () => {
    const asked: string[] = [];
    const proxy = createServer(async (request, response) => {
      const body = await text(request);
      asked.push(JSON.parse(body).method);
      const answer = await fetch(anvil.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
      response.end(await answer.text());
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    // Slow blocks, so that nothing expires by age.
    const network = evmNetwork({ averageBlockTimeMs: 60_000 });
    const chain = createEvmChain({ network, rpcUrls: [{ url, weight: 1 }], rpcTimeoutMs: 5000, log: rememberingLog() });
    chains.push(chain);
    for (let round = 0; round < 20; round += 1) await drafted(chain, { valueWei: BigInt(round) });
    const once = ['eth_chainId', 'eth_estimateGas', 'eth_feeHistory', 'eth_getBalance', 'eth_getBlockByNumber', 'eth_maxPriorityFeePerGas'];
    assert.deepEqual(asked.splice(0).sort(), once);
    await anvil.mine();
    await chain.head();
    await drafted(chain);
    assert.ok(asked.includes('eth_feeHistory') && asked.includes('eth_getBalance'));
    proxy.close();
  });
});

describe('second node that lags', () => {
  it('second node that lags: never causes a refusal, which relies on the node that reported the head', async (test) => {
    const behind = await startFakeNode(test, (request) =>
      answering(request, ({ method }) => {
        if (method === 'eth_getBalance') return '0x0';
        if (method === 'eth_estimateGas') return new FakeError(3, 'execution reverted: too early');
        return method === 'eth_chainId' ? null : new FakeError(-32601, 'not here');
      }),
    );
    const rpcUrls = [anvil.url, behind.url].map((url, index) => ({ url, weight: 2 - index }));
    const chain = createEvmChain({ network: evmNetwork(), rpcUrls, rpcTimeoutMs: 5000, log: rememberingLog() });
    chains.push(chain);
    await chain.head();
    for (let round = 0; round < 6; round += 1) await drafted(chain, { valueWei: 0n, data: `0x0${round}` });
    assert.ok(behind.methods.includes('eth_estimateGas') || behind.methods.includes('eth_getBalance'));
  });
});

describe('replacement', () => {
  it('replacement: outbids the earlier attempt by the minimum, and is mined', async () => {
    const chain = openChain();
    const first = await sent(chain, await drafted(chain, { pricing: { kind: 'legacy', gasPriceWei: 50n * gwei } }), 0n);
    const draft = await drafted(chain, { valueWei: 9n }, { outbids: [first] });
    const minimum = 55n * gwei + 1n;
    assert.deepEqual(draft.price, { kind: 'eip1559', maxFeePerGasWei: minimum, maxPriorityFeePerGasWei: minimum });
    const second = await sent(chain, draft, 0n);
    await anvil.mine();
    assert.equal((await receiptOf(chain, second.hash))?.succeeded, true);
    assert.equal(await receiptOf(chain, first.hash), null);
    assert.equal(await chain.sequence.knows(first.hash), false);
  });

  it('replacement: is refused below the minimum and above the cap', async () => {
    const chain = openChain();
    const first = await sent(chain, await drafted(chain, { pricing: { kind: 'legacy', gasPriceWei: 50n * gwei } }), 0n);
    const low = await refusal(chain, { pricing: { kind: 'legacy', gasPriceWei: 55n * gwei } }, { outbids: [first] });
    assert.equal(low.refused, 'underpriced');
    assert.match(low.sentence, /gas_price must be at least 55000000001 wei/);
    const capped = { outbids: [first], policies: evmPolicies({ gasPriceCapWei: 55n * gwei }) };
    assert.equal((await refusal(chain, {}, capped)).refused, 'above_cap');
  });

  it('replacement: a self-transfer may exceed the cap up to the minimum, and ignores the minimum balance', async () => {
    const chain = openChain();
    const first = await sent(chain, await drafted(chain, { pricing: { kind: 'legacy', gasPriceWei: 50n * gwei } }), 0n);
    const policies = evmPolicies({ gasPriceCapWei: 50n * gwei, minBalanceWei: 10n ** 30n });
    const draft = await chain.draft(draftRequest(account, { content: 'filler', outbids: [first], policies }));
    assert.ok(!('refused' in draft));
    assert.deepEqual([draft.to, draft.valueWei, draft.data, draft.gasLimit], [account, 0n, null, 23_100n]);
    assert.ok(draft.price.kind === 'eip1559' && draft.price.maxFeePerGasWei === 55n * gwei + 1n);
    const cancel = await sent(chain, draft, 0n);
    await anvil.mine();
    assert.equal((await receiptOf(chain, cancel.hash))?.succeeded, true);
  });
});

it('replacement: a self-transfer outbids content that was signed under a higher cap', async () => {
  const chain = openChain();
  const first = await sent(chain, await drafted(chain, { pricing: { kind: 'legacy', gasPriceWei: 150n * gwei } }), 0n);
  const policies = evmPolicies({ gasPriceCapWei: 50n * gwei });
  const draft = await chain.draft(draftRequest(account, { content: 'filler', outbids: [first], policies }));
  assert.ok(!('refused' in draft));
  const filler = await sent(chain, draft, 0n);
  await anvil.mine();
  assert.equal((await receiptOf(chain, filler.hash))?.succeeded, true);
});

/** Creation code that uses about 16.29 million gas for memory: below 2^24, but not with a margin of 10 %. */
const using16290000Gas = '0x622c23e05100';

/** Starts a proxy of anvil that estimates as geth does on a network with EIP-7825; anvil itself ignores the limit when it estimates. */
async function nodeWithEip7825(test: TestContext, words = 'gas required exceeds allowance (16777216)') {
  return startFakeNode(test, async (request) => {
    const answer = await relayed(anvil.url, request);
    const [asked] = request.calls;
    const isOver = asked?.method === 'eth_estimateGas' && BigInt(JSON.parse(answer.body).result) > 16_777_216n;
    return isOver ? answering(request, () => new FakeError(-32000, words)) : answer;
  });
}

describe('gas limit', () => {
  it('gas limit: is refused above the block gas limit, and if neither given nor estimated', async () => {
    const chain = openChain();
    const tooMuch = await refusal(chain, { gasLimit: 30_000_001n });
    // The only endpoint cannot confirm itself.
    assert.deepEqual([tooMuch.refused, tooMuch.lasting, tooMuch.isDoubted], ['gas_limit', false, true]);
    assert.match(tooMuch.sentence, /30000001.*at most 30000000/);
    const missing = await refusal(chain, {}, { policies: evmPolicies({ gasLimitEstimation: false }) });
    assert.equal(missing.refused, 'gas_limit');
  });

  it('gas limit: is used unchanged if given', async () => {
    assert.equal((await drafted(openChain(), { gasLimit: 50_000n })).gasLimit, 50_000n);
  });

  it('gas limit: is refused if the node rejects it as invalid with that gas, not if execution fails', async () => {
    const chain = openChain();
    const tooLong = await refusal(chain, { to: null, valueWei: 0n, data: `0x${'00'.repeat(50_000)}`, gasLimit: 10_000_000n });
    assert.deepEqual([tooLong.refused, tooLong.lasting, tooLong.isDoubted], ['gas_limit', false, 'briefly']);
    assert.match(tooLong.sentence, /gas_limit is 10000000; the RPC node rejects the transaction: "max initcode size exceeded"/);
    const reverting = { to: null, valueWei: 0n, data: contractThat('reverts', '0x'), gasLimit: 100_000n };
    assert.equal((await drafted(chain, reverting)).gasLimit, 100_000n);
  });

  it('gas limit: is checked once per block for the same transaction, and for transfers to the same account', async () => {
    const chain = openChain({ averageBlockTimeMs: 12_000 });
    await chain.head();
    const checks = async (content: Partial<EvmContent>): Promise<number> => {
      const before = chain.calls().items;
      await drafted(chain, { gasLimit: 90_000n, ...content });
      return chain.calls().items - before;
    };
    await checks({ data: '0x01' });
    assert.deepEqual([await checks({ data: '0x02' }), await checks({ data: '0x02' }), await checks({ data: '0x01' })], [1, 0, 0]);
    assert.deepEqual([await checks({}), await checks({ valueWei: 2n })], [1, 0]);
  });

  it('gas limit: is at most 2^24 on a network with EIP-7825, also with the margin', async (test) => {
    const chain = openChain({}, (await nodeWithEip7825(test)).url);
    const margin = await drafted(chain, { to: null, valueWei: 0n, data: using16290000Gas });
    assert.equal(margin.gasLimit, 16_777_216n);
    const tooMuch = await refusal(chain, { gasLimit: 20_000_000n });
    assert.deepEqual([tooMuch.refused, tooMuch.lasting, tooMuch.isDoubted], ['gas_limit', false, 'briefly']);
    assert.equal(tooMuch.sentence, 'gas_limit is 20000000; this network allows at most 16777216');
    assert.equal((await drafted(chain, { gasLimit: 16_777_216n })).gasLimit, 16_777_216n);
  });

  it('gas limit: above 2^24 fails a transaction for good only if two endpoints know EIP-7825', async (test) => {
    const limiting = async () => (await nodeWithEip7825(test)).url;
    for (const [urls, isLasting] of [
      [[await limiting(), await limiting()], true],
      [[await limiting(), anvil.url], false],
      [[anvil.url, await limiting()], false],
    ] as const) {
      const chain = openChain({}, ...urls);
      await chain.head();
      if (!isLasting) assert.equal((await drafted(chain, { gasLimit: 20_000_000n })).gasLimit, 20_000_000n);
      else assert.deepEqual(lasting(await refusal(chain, { gasLimit: 20_000_000n })), ['gas_limit', true]);
    }
  });

  it('gas limit: of three endpoints none understates it alone, also with a block that has no room for more', async (test) => {
    const to = '0x00000000000000000000000000000000000ca11e';
    // It stores 12 words.
    const code = Array.from({ length: 12 }, (_, index) => `600160${(index + 1).toString(16).padStart(2, '0')}55`).join('');
    await anvil.rpc('anvil_setCode', [to, `0x${code}00`]);
    const liar = await startFakeNode(test, async (request) => {
      const answer = await relayed(anvil.url, request);
      return {
        body: answer.body
          .replace(/"gasLimit":"0x[0-9a-f]+"/g, '"gasLimit":"0xa7f8"')
          .replace(/"result":"0x4[0-9a-f]{4}"/, '"result":"0x80e8"'),
      };
    });
    const honest = await drafted(openChain(), { to, data: '0x01', valueWei: 0n });
    assert.ok(honest.gasLimit > 280_000n && honest.gasLimit < 350_000n, String(honest.gasLimit));
    for (const urls of [
      [liar.url, anvil.url, anvil.url],
      [anvil.url, liar.url, anvil.url],
    ]) {
      const chain = openChain({}, ...urls);
      await chain.head();
      assert.equal((await drafted(chain, { to, data: '0x01', valueWei: 0n })).gasLimit, honest.gasLimit);
    }
  });

  it('gas estimate: of three endpoints none decides alone whether a call reverts, now or on a pool', async (test) => {
    const to = '0x00000000000000000000000000000000000ca11f';
    const reverting = '0x60006000fd';
    const lying = async (answer: (block: unknown) => string | FakeError | null) =>
      (
        await startFakeNode(test, async (request) =>
          request.calls.some(({ method, params }) => method === 'eth_estimateGas' && answer(params[1]) !== null)
            ? answering(request, ({ method, params }) => (method === 'eth_estimateGas' ? answer(params[1]) : null))
            : relayed(anvil.url, request),
        )
      ).url;
    const liars = {
      runs: await lying(() => '0x9000'),
      'runs on its pool': await lying((block) => (block === 'pending' ? '0x9000' : null)),
      reverts: await lying(() => new FakeError(3, 'execution reverted')),
    };
    for (const [lie, url] of Object.entries(liars))
      for (const place of [0, 1, 2]) {
        await anvil.rpc('anvil_setCode', [to, lie === 'reverts' ? '0x00' : reverting]);
        const chain = openChain({}, ...[anvil.url, anvil.url].toSpliced(place, 0, url));
        await chain.head();
        const content = { to, data: '0x01', valueWei: 0n };
        if (lie === 'reverts') await drafted(chain, content);
        else assert.deepEqual(lasting(await refusal(chain, content)), ['reverts', true], `${lie} at ${place}`);
      }
  });

  it('balance: of three endpoints none shows alone that the account can pay, or that it cannot', async (test) => {
    const showing = async (balance: string) =>
      (
        await startFakeNode(test, (request) =>
          request.calls.some(({ method }) => method === 'eth_getBalance') ? answering(request, () => balance) : relayed(anvil.url, request),
        )
      ).url;
    const tooMuch = { valueWei: 10n ** 24n };
    for (const place of [0, 1, 2]) {
      const rich = openChain({}, ...[anvil.url, anvil.url].toSpliced(place, 0, await showing('0xc9f2c9cd04674edea40000000')));
      await rich.head();
      assert.deepEqual(lasting(await refusal(rich, tooMuch)), ['insufficient_funds', false], String(place));
      const poor = openChain({}, ...[anvil.url, anvil.url].toSpliced(place, 0, await showing('0x0')));
      await poor.head();
      await drafted(poor);
    }
  });

  it('gas limit: is limited by the block only on a network without EIP-7825', async () => {
    const chain = openChain();
    const margin = await drafted(chain, { to: null, valueWei: 0n, data: using16290000Gas });
    assert.ok(margin.gasLimit > 17_900_000n && margin.gasLimit < 18_000_000n);
    assert.equal((await drafted(chain, { gasLimit: 20_000_000n })).gasLimit, 20_000_000n);
  });

  it('gas limit: gets a margin up to 2^24 if the node cannot say whether EIP-7825 applies; a given one is kept', async (test) => {
    const chain = openChain({}, (await nodeWithEip7825(test, 'gas limit too high')).url);
    assert.equal((await drafted(chain, { to: null, valueWei: 0n, data: using16290000Gas })).gasLimit, 16_777_216n);
    assert.equal((await drafted(chain, { gasLimit: 20_000_000n })).gasLimit, 20_000_000n);
  });

  it('gas limit: is refused below the network’s floor for call data', async () => {
    const { refused } = await refusal(openChain(), { data: `0x${'ff'.repeat(100)}`, gasLimit: 22_600n });
    assert.equal(refused, 'gas_limit');
  });

  it('gas limit: is estimated once per block for the same call', async () => {
    const chain = openChain({ averageBlockTimeMs: 12_000 });
    const contract = await deployed(chain, contractThat('returns', '0x'));
    await chain.head();
    const estimates = async (data: string): Promise<number> => {
      const before = chain.calls().items;
      await drafted(chain, { to: contract, valueWei: 0n, data });
      return chain.calls().items - before;
    };
    await estimates('0x01');
    assert.deepEqual([await estimates('0x02'), await estimates('0x02'), await estimates('0x01')], [1, 0, 0]);
    await anvil.mine();
    await chain.head();
    assert.ok((await estimates('0x01')) > 0);
  });

  it('gas limit: is estimated once for many transfers of different amounts to one account at once', async () => {
    const chain = openChain({ averageBlockTimeMs: 12_000 });
    await chain.head();
    await drafted(chain, { to: account });
    const before = chain.calls().items;
    const drafts = await Promise.all(Array.from({ length: 30 }, (_, index) => drafted(chain, { valueWei: BigInt(index) })));
    assert.ok(drafts.every(({ gasLimit }) => gasLimit === 23_100n));
    assert.equal(chain.calls().items - before, 1);
  });

  it('gas limit: is estimated once per block for transfers without code, separately for a transfer to a contract', async () => {
    const chain = openChain();
    const contract = await deployed(chain, contractThat('returns', '0x'));
    const toCode = await drafted(chain, { to: contract, valueWei: 0n });
    assert.ok(toCode.gasLimit > 23_100n);
    assert.equal((await drafted(chain)).gasLimit, 23_100n);
    assert.equal((await drafted(chain, { valueWei: 2n })).gasLimit, 23_100n);
  });
});

describe('funds', () => {
  it('funds: must cover value, gas and the minimum balance; the balance is read again at the next block', async () => {
    const chain = openChain();
    const content = { valueWei: 1000n, gasLimit: 21_000n, pricing: { kind: 'legacy', gasPriceWei: 2n * gwei } } as const;
    const policies = evmPolicies({ minBalanceWei: 500n });
    const needed = 1000n + 21_000n * 2n * gwei + 500n;
    await anvil.rpc('anvil_setBalance', [account, `0x${(needed - 1n).toString(16)}`]);
    const { refused, sentence, lasting } = await refusal(chain, content, { policies });
    assert.deepEqual([refused, lasting], ['insufficient_funds', false]);
    assert.match(sentence, new RegExp(`has ${needed - 1n} wei, the transaction may cost ${needed - 500n} wei, and 500 wei must remain`));
    await anvil.rpc('anvil_setBalance', [account, `0x${needed.toString(16)}`]);
    await anvil.mine();
    await chain.head();
    await drafted(chain, content, { policies });
  });

  it('funds: any number of refusals at one block cost two readings of the balance and three questions beside the first', async () => {
    const chain = openChain();
    await chain.head();
    const before = chain.calls().items;
    const refuse = (more: number) => refusal(chain, { valueWei: 10n ** 24n + BigInt(more) });
    await refuse(0);
    assert.equal(chain.calls().items - before, 5);
    await Promise.all(Array.from({ length: 30 }, (_, index) => refuse(index)));
    assert.equal(chain.calls().items - before, 5);
  });

  it('funds: refuses a value above the balance before it estimates', async () => {
    const { refused, sentence } = await refusal(openChain(), { valueWei: 10n ** 24n });
    assert.equal(refused, 'insufficient_funds');
    assert.match(sentence, /the account has \d+ wei/);
  });
});

describe('revert', () => {
  const abi = AbiCoder.defaultAbiCoder();
  const cases = [
    { data: `0x08c379a0${abi.encode(['string'], ['not today']).slice(2)}`, reason: 'not today' },
    { data: `0x4e487b71${abi.encode(['uint256'], [0x12]).slice(2)}`, reason: 'panic 0x12: division by zero' },
    { data: '0xdeadbeef', reason: 'custom error 0xdeadbeef' },
  ];
  for (const { data, reason } of cases) {
    it(`revert: is predicted and explained: ${reason}`, async () => {
      const chain = openChain();
      const contract = await deployed(chain, contractThat('reverts', data));
      const predicted = await refusal(chain, { to: contract, valueWei: 0n });
      const sentence = `the transaction would revert: ${reason}`;
      assert.deepEqual(predicted, { refused: 'reverts', sentence, lasting: false, isDoubted: 'briefly' });
      const attempt = await sent(chain, await drafted(chain, { to: contract, valueWei: 0n, gasLimit: 100_000n }), 1n);
      await anvil.mine();
      const receipt = await receiptOf(chain, attempt.hash);
      assert.ok(receipt !== null && !receipt.succeeded);
      assert.equal(await chain.whyFailed(receipt, evmRelayer(account)), `reverted on chain: ${reason}`);
    });
  }

  it('revert: is not predicted if a transaction in the pool prevents it', async () => {
    const chain = openChain();
    // A call with data sets a flag. A call without data reverts until the flag is set.
    const contract = await deployed(chain, contractOf('0x36600e57600054601457600080fd5b60016000555b00'));
    assert.equal((await refusal(chain, { to: contract, valueWei: 0n })).refused, 'reverts');
    const first = await sent(chain, await drafted(chain, { to: contract, valueWei: 0n, data: '0x01' }), 1n);
    const second = await sent(chain, await drafted(chain, { to: contract, valueWei: 0n }), 2n);
    const content = evmContent({ to: contract, valueWei: 0n });
    const replacing = await chain.draft(draftRequest(account, { content, outbids: [first] }));
    assert.ok('refused' in replacing && replacing.refused === 'reverts');
    await anvil.mine();
    assert.equal((await receiptOf(chain, second.hash))?.succeeded, true);
  });

  it('revert: has no reason if it has no data', async () => {
    const chain = openChain();
    const contract = await deployed(chain, contractThat('reverts', '0x'));
    assert.equal((await refusal(chain, { to: contract, valueWei: 0n })).sentence, 'the transaction would revert');
  });
});
