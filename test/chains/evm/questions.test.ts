import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { evmDialect } from '../../../src/chains/evm/dialect.js';
import { anchorAt, type BlockUses, questions } from '../../../src/chains/evm/questions.js';
import type { RpcCall } from '../../../src/chains/rpc/json-rpc.js';
import { NodeError } from '../../../src/chains/rpc/node-error.js';
import { createRpc } from '../../../src/chains/rpc/rpc.js';
import { DomainError } from '../../../src/core/errors/errors.js';
import { evmNetwork, rememberingLog } from '../../support/evm.js';
import { type AskedRequest, answering, type FakeAnswer, FakeError, startFakeNode } from '../../support/fake-node.js';

const account = `0x${'11'.repeat(20)}`;
const hash = `0x${'ab'.repeat(32)}`;
const block = { number: '0x7', hash, parentHash: hash, timestamp: '0x1', gasLimit: '0x1c9c380', baseFeePerGas: '0x1', transactions: [] };
const call = { from: account, to: account, valueWei: 0n, data: null };
const receipt = { transactionHash: hash, blockHash: hash, blockNumber: '0x7', status: '0x1', gasUsed: '0x5208', effectiveGasPrice: '0x1' };

/** A call of every question, and a result that an honest node gives. */
const samples: Readonly<Record<keyof typeof questions, readonly [RpcCall<unknown>, unknown]>> = {
  chainId: [questions.chainId(), '0x7a69'],
  head: [questions.head(), block],
  newHeads: [questions.newHeads(), '0x1'],
  anchor: [questions.anchor(anchorAt(7n)), block],
  block: [questions.block(7n), block],
  blockHash: [questions.blockHash(7n), block],
  blockOfHash: [questions.blockOfHash(hash), block],
  usesInBlock: [questions.usesInBlock(31_337n, 7n, account), block],
  hashesInBlock: [questions.hashesInBlock(7n), block],
  pricesInBlock: [questions.pricesInBlock(7n), block],
  newestNonce: [questions.newestNonce(account), '0x5'],
  nonceAt: [questions.nonceAt(account, 7n), '0x5'],
  balance: [questions.balance(account), '0x5'],
  code: [questions.code(account), '0x'],
  feeHistory: [
    questions.feeHistory(1n, [50]),
    { oldestBlock: '0x7', baseFeePerGas: ['0x1', '0x1'], reward: [['0x1']], gasUsedRatio: [0.5] },
  ],
  gasPrice: [questions.gasPrice(), '0x5'],
  priorityFee: [questions.priorityFee(), '0x5'],
  gasEstimate: [questions.gasEstimate(call, '0x7'), '0x5208'],
  dryRun: [questions.dryRun(call, 21_000n, '0x7'), '0x'],
  simulation: [questions.simulation(call, null, '0x7'), '0x12'],
  revert: [questions.revert({}, 7n), '0x'],
  publishingFee: [questions.publishingFee({ to: account, data: '0x' }), '0x5'],
  receipt: [questions.receipt(hash), receipt],
  blockReceipts: [questions.blockReceipts(7n), [receipt]],
  transaction: [questions.transaction(hash), { hash }],
  broadcast: [questions.broadcast('0x02'), hash],
};

const oddities: Readonly<Record<string, unknown>> = {
  'unknown words': new FakeError(-39_999, 'the moon is in the wrong house'),
  'words with the code of a wrong request': new FakeError(-32_602, 'the moon is in the wrong house'),
  'no such method': new FakeError(-32_601, 'the method does not exist/is not available'),
  'an internal error': new FakeError(-32_603, 'internal error'),
  null: null,
  'an object of another shape': { wrong: true },
  'a number above 2^256': `0x${'f'.repeat(70)}`,
  'an error without words': new FakeError(0, ''),
  'an error of 10,000 characters': new FakeError(-32_000, 'moon '.repeat(2_000)),
  'an error with 10,000 characters of data': new FakeError(-32_000, 'the moon', `0x${'ab'.repeat(5_000)}`),
  'a text of 10,000 characters': 'moon '.repeat(2_000),
  'a list of 100,000 items': Array.from({ length: 100_000 }, () => '0x1'),
  'a number in place of a text': 7,
  'a negative number': '-0x1',
  'a number with a fraction': 0.5,
};

/** Results that JSON.stringify cannot write, as JSON text. */
const hostile: Readonly<Record<string, string>> = {
  'lists nested 100,000 deep': '['.repeat(100_000) + ']'.repeat(100_000),
  'objects nested 100,000 deep': `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`,
  'keys of a prototype': `{"__proto__":${JSON.stringify(block)},"constructor":{"prototype":{"number":"0x7"}},"toString":1,"length":1}`,
  'a body that ends early': '{"number":"0x7"',
};

/** Questions whose answer has no content, so that any result is one. */
const withoutContent: readonly string[] = ['dryRun', 'revert'];
/** Questions that accept any text, whose answers are judged by what reads them. */
const anyResult: readonly string[] = ['chainId'];

function hostileBody({ calls: [call] }: AskedRequest, result: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(call?.id)},"result":${result}}`;
}

async function rpcOf(test: TestContext, ...nodes: readonly ((request: AskedRequest) => FakeAnswer)[]) {
  const started = await Promise.all(nodes.map((node) => startFakeNode(test, node)));
  const rpcUrls = started.map(({ url }, index) => ({ url, weight: 100 - index }));
  const rpc = createRpc({ network: evmNetwork(), rpcUrls, rpcTimeoutMs: 3_000, log: rememberingLog() }, evmDialect(31_337n));
  test.after(() => rpc.close());
  return rpc;
}

/** What can be compared of an answer. */
const shown = (answer: unknown): unknown => (!Array.isArray(answer) && 'find' in Object(answer) ? (answer as BlockUses).find(0n) : answer);

describe('questions to nodes', () => {
  for (const [name, [asked, good]] of Object.entries(samples)) {
    it(`questions to nodes: ${name}: an odd answer of one endpoint is never the answer`, async (test) => {
      const honest = await rpcOf(test, (request) => answering(request, ({ method }) => (method === 'eth_chainId' ? '0x7a69' : good)));
      const expected = await honest.ask(asked, { first: 'head' });
      const texts = Object.entries(hostile).map(([oddity, text]) => [oddity, { text }] as const);
      for (const [oddity, answer] of [...Object.entries(oddities), ...texts]) {
        const isHostile = Object.hasOwn(hostile, oddity);
        if (['code', 'simulation'].includes(name) && oddity === 'a number above 2^256') continue;
        if (withoutContent.includes(name) && !(answer instanceof FakeError)) continue;
        if (anyResult.includes(name) && !(answer instanceof FakeError)) continue;
        let isVerified = false;
        const odd = (request: AskedRequest): FakeAnswer => {
          // A question in place of the chain ID must not be mistaken for the verification of the endpoint.
          if (!isVerified && request.calls[0]?.method === 'eth_chainId') {
            isVerified = true;
            return answering(request, () => '0x7a69');
          }
          if (isHostile) return { body: hostileBody(request, hostile[oddity] ?? '') };
          return answering(request, () => (answer === null ? undefined : answer));
        };
        const both = await rpcOf(test, odd, (request) => answering(request, ({ method }) => (method === 'eth_chainId' ? '0x7a69' : good)));
        assert.deepEqual(shown(await both.ask(asked, { first: 'head' })), shown(expected), `${name}: ${oddity}`);
      }
    });
  }

  it('questions to nodes: no text of a node is longer than 1 KiB in an error, and no hostile answer of the only endpoint is thrown as a bug', async (test) => {
    for (const [name, [asked]] of Object.entries(samples)) {
      for (const answer of [...Object.values(oddities), ...Object.values(hostile).map((text) => ({ text }))]) {
        let isVerified = false;
        const rpc = await rpcOf(test, (request) => {
          const isFirst = !isVerified && request.calls[0]?.method === 'eth_chainId';
          if (isFirst) isVerified = true;
          if (isFirst) return answering(request, () => '0x7a69');
          return typeof answer === 'object' && answer !== null && 'text' in answer
            ? { body: hostileBody(request, String(answer.text)) }
            : answering(request, () => (answer === null ? undefined : answer));
        });
        const failure = await rpc.call(asked).then(
          () => null,
          (error: unknown) => error,
        );
        if (failure === null) continue;
        const isExpected = failure instanceof NodeError || (failure instanceof DomainError && failure.reason === 'NODE_UNAVAILABLE');
        assert.ok(isExpected, `${name}: ${failure instanceof Error ? failure.stack : String(failure)}`);
        assert.ok(failure.message.length <= 1_100, name);
      }
    }
  });

  it('questions to nodes: null is the answer if every endpoint says so', async (test) => {
    const none = (request: AskedRequest): FakeAnswer => answering(request, () => undefined);
    const rpc = await rpcOf(test, none, none);
    assert.equal(await rpc.ask(questions.receipt(hash)), null);
    assert.equal(await rpc.ask(questions.transaction(hash)), null);
  });

  it('questions to nodes: null is no answer about something gone while another endpoint is silent', async (test) => {
    const rpc = await rpcOf(
      test,
      (request) => answering(request, () => undefined),
      () => 'hang up',
    );
    await assert.rejects(rpc.ask(questions.transaction(hash), { unanimous: 'all' }), { reason: 'NODE_UNAVAILABLE' });
  });

  it('questions to nodes: each says what it decides and what happens without an answer', () => {
    for (const [name, { entry }] of Object.entries(questions)) {
      assert.ok(entry.fallback.length > 10, name);
      assert.ok(entry.decides.length > 0, name);
    }
  });
});
