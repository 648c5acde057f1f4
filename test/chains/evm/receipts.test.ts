import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { AbiCoder } from 'ethers';
import { evmDialect } from '../../../src/chains/evm/dialect.js';
import type { EvmChain } from '../../../src/chains/evm/evm-chain.js';
import { createReceipts } from '../../../src/chains/evm/receipts.js';
import { createRpc } from '../../../src/chains/rpc/rpc.js';
import type { Attempt, MinedFacts } from '../../../src/core/records/transaction.js';
import { type Anvil, startAnvil } from '../../support/anvil.js';
import { openChain, signedAttempt } from '../../support/chain-rig.js';
import { broadcastOne, contractThat, evmNetwork, evmRelayer, rememberingLog } from '../../support/evm.js';
import { answering, FakeError, relayed, startFakeNode } from '../../support/fake-node.js';

let node: Anvil;
const lost = `0x${'ab'.repeat(32)}`;

before(async () => {
  node = await startAnvil({ noMining: true });
});
after(() => node.stop());

/** Sends transfers, starting at the account's next nonce, and mines them in one block. */
async function mined(chain: EvmChain, count: number): Promise<readonly Attempt[]> {
  const { account } = await signedAttempt(chain, 0n);
  const from = await chain.sequence.nextOf(account);
  const attempts = await Promise.all(Array.from({ length: count }, (_, index) => signedAttempt(chain, from + BigInt(index))));
  await chain.broadcastAll(attempts.map(({ raw }) => raw));
  await node.mine();
  return attempts;
}

/** Starts a proxy of the node that records the methods called. */
async function watched(test: Parameters<typeof openChain>[0], refused: readonly string[] = []) {
  const proxy = await startFakeNode(test, (request) =>
    request.calls.some(({ method }) => refused.includes(method))
      ? answering(request, () => new FakeError(-32601, 'the method does not exist'))
      : relayed(node.url, request),
  );
  const { chain } = openChain(test, [proxy.url]);
  return { chain, since: () => proxy.methods.splice(0).filter((method) => method !== 'eth_chainId') };
}

/** The gas and the fee of a transaction, read from the node itself. */
async function factsAtNode(hash: string | undefined): Promise<MinedFacts> {
  const receipt = (await node.rpc('eth_getTransactionReceipt', [hash])) as { readonly gasUsed: string; readonly effectiveGasPrice: string };
  const gasUsed = BigInt(receipt.gasUsed);
  return { gasUsed, feePaid: gasUsed * BigInt(receipt.effectiveGasPrice), returnValueXdr: null };
}

describe('receipts', () => {
  const receiptsWith: readonly (readonly [what: string, fields: object, facts: Pick<MinedFacts, 'gasUsed' | 'feePaid'>])[] = [
    ['adds the L1 fee of a rollup to the fee', { l1Fee: '0x7' }, { gasUsed: 21_000n, feePaid: 42_007n }],
    [
      'shows no fee if the network charges an operator fee, which it does not name',
      { l1Fee: '0x7', operatorFeeScalar: '0x0', operatorFeeConstant: '0x1' },
      { gasUsed: 21_000n, feePaid: null },
    ],
    [
      'adds the L1 fee if the operator fee is zero',
      { l1Fee: '0x7', operatorFeeScalar: '0x0', operatorFeeConstant: '0x0' },
      { gasUsed: 21_000n, feePaid: 42_007n },
    ],
    ['shows no fee if the price is missing', { effectiveGasPrice: undefined }, { gasUsed: 21_000n, feePaid: null }],
    ['shows no facts that are malformed, and settles all the same', { gasUsed: 'much', l1Fee: {} }, { gasUsed: null, feePaid: null }],
    ['shows no gas beyond 64 bits', { gasUsed: `0x1${'0'.repeat(16)}` }, { gasUsed: null, feePaid: 2n ** 65n }],
  ];
  for (const [what, fields, facts] of receiptsWith) {
    it(`receipt: ${what}`, async (test) => {
      const receipt = {
        transactionHash: lost,
        blockNumber: '0x1',
        blockHash: lost,
        status: '0x1',
        gasUsed: '0x5208',
        effectiveGasPrice: '0x2',
        ...fields,
      };
      const fake = await startFakeNode(test, (request) =>
        answering(request, ({ method }) => (method === 'eth_chainId' ? '0x7a69' : receipt)),
      );
      const { found } = await openChain(test, [fake.url]).chain.sequence.receipts([lost], { from: 1n, to: 1n });
      assert.deepEqual(found.get(lost)?.facts, { ...facts, returnValueXdr: null });
    });
  }

  it('receipts: of a few transactions come in one batch, for any blocks', async (test) => {
    const { chain, since } = await watched(test);
    const early = await mined(chain, 1);
    const late = await mined(chain, 2);
    const head = await chain.head();
    since();
    const hashes = [...early, ...late].map(({ hash }) => hash);
    const { found } = await chain.sequence.receipts([...hashes, lost], { from: head.number, to: head.number });
    assert.deepEqual(since(), Array(4).fill('eth_getTransactionReceipt'));
    assert.deepEqual([...found.keys()].sort(), hashes.sort());
    assert.deepEqual(found.get(late[0]?.hash ?? ''), {
      hash: late[0]?.hash,
      blockNumber: head.number,
      blockHash: head.hash,
      succeeded: true,
      facts: await factsAtNode(late[0]?.hash),
    });
    assert.equal(found.get(early[0]?.hash ?? '')?.blockNumber, head.number - 1n);
    assert.equal((await chain.sequence.receipts([], { from: 0n, to: 9n })).found.size, 0);
  });

  it('receipts: of many transactions come per block; the missing ones one by one', async (test) => {
    const { chain, since } = await watched(test);
    const early = await mined(chain, 1);
    const late = await mined(chain, 60);
    const head = await chain.head();
    since();
    const hashes = [...early, ...late].map(({ hash }) => hash);
    const { found } = await chain.sequence.receipts([...hashes, lost], { from: head.number, to: head.number });
    assert.deepEqual(since(), ['eth_getBlockReceipts', 'eth_getTransactionReceipt', 'eth_getTransactionReceipt']);
    assert.deepEqual([...found.keys()].sort(), hashes.sort());
  });

  it('receipts: come one by one once a node has rejected eth_getBlockReceipts', async (test) => {
    const { chain, since } = await watched(test, ['eth_getBlockReceipts']);
    const attempts = await mined(chain, 60);
    const head = await chain.head();
    since();
    const hashes = attempts.map(({ hash }) => hash);
    for (const asked of [61, 60]) {
      assert.equal((await chain.sequence.receipts(hashes, { from: head.number, to: head.number })).found.size, 60);
      assert.equal(since().length, asked);
    }
  });

  it('receipts: come per block again ten minutes after a node rejected eth_getBlockReceipts', async (test) => {
    let nowMs = 0;
    const asked: string[] = [];
    const fake = await startFakeNode(test, (request) =>
      answering(request, ({ method }) => {
        asked.push(method);
        return method === 'eth_getBlockReceipts' ? new FakeError(-32601, 'no such method') : null;
      }),
    );
    const rpcUrls = [{ url: fake.url, weight: 1 }];
    const rpc = createRpc({ network: evmNetwork(), rpcUrls, rpcTimeoutMs: 3_000, log: rememberingLog() }, evmDialect(31337n));
    test.after(() => rpc.close());
    const receipts = createReceipts(rpc, { contradicts: () => false, hashAt: () => undefined }, rememberingLog(), () => nowMs);
    const hashes = Array.from({ length: 30 }, (_, index) => `0x${index.toString(16).padStart(64, '0')}`);
    const perBlock = async (): Promise<number> => {
      await receipts.find(hashes, { from: 1n, to: 1n });
      return asked.splice(0).filter((method) => method === 'eth_getBlockReceipts').length;
    };
    assert.deepEqual([await perBlock(), await perBlock()], [1, 0]);
    nowMs += 10 * 60_000;
    assert.equal(await perBlock(), 1);
  });

  it('receipts: swapped, malformed and missing ones are never accepted', async (test) => {
    const { chain } = openChain(test, [node.url]);
    const [first, second] = await mined(chain, 2);
    const hashes = [first?.hash ?? '', second?.hash ?? ''];
    const head = await chain.head();
    const range = { from: head.number, to: head.number };
    const good = JSON.parse((await relayed(node.url, batchOf(hashes))).body);
    const broken: Readonly<Record<string, unknown>> = {
      swapped: good.map((item: object, index: number) => ({ ...item, id: 2 - index })),
      missing: good.slice(0, 1),
      'without a block number': good.map((item: { result: object }) => ({ ...item, result: { ...item.result, blockNumber: 'soon' } })),
    };
    for (const [name, items] of Object.entries(broken)) {
      const bad = await startFakeNode(test, (request) =>
        request.isBatch ? { body: JSON.stringify(items) } : answering(request, () => null),
      );
      const alone = await openChain(test, [bad.url]).chain.sequence.receipts(hashes, range);
      // A batch that lacks one of its answers still has the other.
      const answered = name === 'missing' ? hashes.slice(0, 1) : [];
      assert.deepEqual([...alone.found.keys()], answered, name);
      // Without a receipt that can be read, the block has to show the transaction.
      const unanswered = name === 'without a block number' ? [] : hashes.slice(answered.length);
      assert.deepEqual([...alone.unanswered], unanswered, name);
      const { chain: both } = openChain(test, [bad.url, node.url]);
      assert.equal((await both.sequence.receipts(hashes, range)).found.size, 2, name);
    }
  });
});

function batchOf(hashes: readonly string[]) {
  const calls = hashes.map((hash, index) => ({ jsonrpc: '2.0', id: index + 1, method: 'eth_getTransactionReceipt', params: [hash] }));
  return { isBatch: true, calls, text: JSON.stringify(calls) };
}

describe('revert reason', () => {
  const abi = AbiCoder.defaultAbiCoder();
  const cases = [
    { data: `0x08c379a0${abi.encode(['string'], ['not today']).slice(2)}`, reason: 'not today' },
    { data: `0x4e487b71${abi.encode(['uint256'], [0x11]).slice(2)}`, reason: 'panic 0x11: arithmetic overflow' },
    { data: '0xdeadbeef00', reason: 'custom error 0xdeadbeef' },
    { data: null, reason: null },
  ];
  for (const { data, reason } of cases) {
    it(`revert reason: is read from the revert data: ${reason}`, async (test) => {
      const { chain } = openChain(test, [node.url]);
      const { account } = await signedAttempt(chain, 0n);
      const nonce = await chain.sequence.nextOf(account);
      const creation = { to: null, valueWei: 0n, data: contractThat('reverts', data ?? '0x'), gasLimit: 500_000n };
      const deployment = await signedAttempt(chain, nonce, creation);
      await broadcastOne(chain, deployment.raw);
      await node.mine();
      const { contractAddress } = (await node.rpc('eth_getTransactionReceipt', [deployment.hash])) as { contractAddress: string };
      const call = await signedAttempt(chain, nonce + 1n, { to: contractAddress, valueWei: 0n });
      await broadcastOne(chain, call.raw);
      await node.mine();
      const { number } = await chain.head();
      const receipt = (await chain.sequence.receipts([call.hash], { from: number, to: number })).found.get(call.hash);
      assert.ok(receipt !== undefined && !receipt.succeeded);
      const shown = evmRelayer(account, { includeRevertData: true });
      const sentence = `reverted on chain${reason === null ? '' : `: ${reason}`}`;
      assert.equal(await chain.whyFailed(receipt, evmRelayer(account)), sentence);
      assert.equal(await chain.whyFailed(receipt, shown), data === null ? sentence : `${sentence} (revert data ${data})`);
    });
  }

  it('revert reason: is unknown, without an error, if no node can report it', async (test) => {
    const receipt = { hash: lost, blockNumber: 1n, blockHash: lost, succeeded: false, facts: null };
    const relayer = evmRelayer(lost, { includeRevertData: true });
    const nothing = 'reverted on chain';
    assert.equal(await openChain(test, []).chain.whyFailed(receipt, relayer), nothing);
    const { chain, lines } = openChain(test, [node.url]);
    assert.deepEqual([await chain.whyFailed(receipt, relayer), lines], [nothing, []]);
    const pruned = await startFakeNode(test, (request) =>
      answering(request, ({ method }) =>
        method === 'eth_chainId' ? null : method === 'eth_call' ? new FakeError(-32000, 'missing trie node') : {},
      ),
    );
    assert.equal(await openChain(test, [pruned.url]).chain.whyFailed(receipt, relayer), nothing);
  });
});
