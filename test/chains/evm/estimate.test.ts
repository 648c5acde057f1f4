import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { evmDialect } from '../../../src/chains/evm/dialect.js';
import { estimateGas, readTransactionLimit } from '../../../src/chains/evm/gas.js';
import { createRpc } from '../../../src/chains/rpc/rpc.js';
import { evmNetwork, rememberingLog } from '../../support/evm.js';
import { answering, FakeError, startFakeNode } from '../../support/fake-node.js';

const question = { from: `0x${'11'.repeat(20)}`, to: null, valueWei: 0n, data: '0x60' };

/** Opens nodes that give these answers, in order. */
async function rpcOf(test: TestContext, answers: readonly (FakeError | string | null)[]) {
  const nodes = await Promise.all(
    answers.map((answer) =>
      startFakeNode(test, (request) => answering(request, ({ method }) => (method === 'eth_chainId' ? null : answer))),
    ),
  );
  const rpcUrls = nodes.map(({ url }, index) => ({ url, weight: 100 - index }));
  const rpc = createRpc({ network: evmNetwork(), rpcUrls, rpcTimeoutMs: 3_000, log: rememberingLog() }, evmDialect(31337n));
  test.after(() => rpc.close());
  return rpc;
}

/** Estimates with nodes that give these answers, in order. */
async function estimate(test: TestContext, answers: readonly (FakeError | string)[]) {
  return estimateGas(await rpcOf(test, answers), question, 'latest');
}

const words = (text: string, code = -32000) => new FakeError(code, text);

describe('the limit of gas per transaction', () => {
  const oddities: Readonly<Record<string, FakeError | string | null>> = {
    'less than a creation costs': '0x5208',
    'no number': 'moon',
    null: null,
    'an internal error': words('boom', -32603),
    'no such method': words('the method does not exist/is not available', -32601),
  };
  for (const [name, answer] of Object.entries(oddities)) {
    it(`gas limit: an only node that answers the probe with ${name} leaves the limit unknown, and nothing waits for it`, async (test) => {
      assert.equal(await readTransactionLimit(await rpcOf(test, [answer]), question.from), 'unknown');
    });
  }
});

describe('gas estimate', () => {
  for (const text of ['invalid code: must not begin with 0xef', 'return data out of bounds', 'execution reverted']) {
    it(`gas estimate: "${text}" means that execution fails`, async (test) => {
      const refusal = await estimate(test, [words(text)]);
      assert.ok(typeof refusal !== 'bigint');
      assert.deepEqual([refusal.refused, refusal.lasting], ['reverts', true]);
    });
  }

  it('gas estimate: unknown words of every node are shown', async (test) => {
    assert.deepEqual(await estimate(test, [words('the moon is full'), words('the moon is full')]), {
      refused: 'rejected',
      sentence: 'the RPC node answered "the moon is full"',
      lasting: false,
    });
  });

  it('gas estimate: unknown words of one node do not count if another node answers', async (test) => {
    assert.equal(await estimate(test, [words('the moon is full'), '0xea60']), 60_000n);
    const refusal = await estimate(test, [words('the moon is full'), words('execution reverted', 3)]);
    assert.ok(typeof refusal !== 'bigint' && refusal.refused === 'reverts');
  });

  it('gas estimate: a node with an internal error says nothing about the transaction', async (test) => {
    await assert.rejects(estimate(test, [words('boom', -32603)]), { reason: 'NODE_UNAVAILABLE' });
  });

  it('gas estimate: unknown words of one node do not count while another node is down', async (test) => {
    const puzzled = await startFakeNode(test, (request) =>
      answering(request, ({ method }) => (method === 'eth_chainId' ? null : words('the moon is full'))),
    );
    const down = await startFakeNode(test, () => 'hang up');
    const rpcUrls = [
      { url: puzzled.url, weight: 100 },
      { url: down.url, weight: 99 },
    ];
    const rpc = createRpc({ network: evmNetwork(), rpcUrls, rpcTimeoutMs: 3_000, log: rememberingLog() }, evmDialect(31337n));
    test.after(() => rpc.close());
    await assert.rejects(estimateGas(rpc, question, 'latest'), { reason: 'NODE_UNAVAILABLE' });
  });

  it('gas estimate: one node whose own limit for calls is too low does not refuse for the others', async (test) => {
    assert.equal(await estimate(test, [words('gas required exceeds allowance (1000000)'), '0x1e8480']), 2_000_000n);
  });

  for (const error of [words('the moon is full', -32602), words('invalid argument: the moon')]) {
    it(`gas estimate: words about parameters that one parameter does not end are about the transaction: ${JSON.stringify(error)}`, async (test) => {
      const parameters: number[] = [];
      let isRefusing = true;
      const node = await startFakeNode(test, (request) =>
        answering(request, ({ method, params }) => {
          if (method === 'eth_chainId') return null;
          parameters.push((params as readonly unknown[]).length);
          return isRefusing ? error : '0xea60';
        }),
      );
      const rpc = createRpc(
        { network: evmNetwork(), rpcUrls: [{ url: node.url, weight: 1 }], rpcTimeoutMs: 3_000, log: rememberingLog() },
        evmDialect(31337n),
      );
      test.after(() => rpc.close());
      const refusal = await estimateGas(rpc, question, 'latest');
      assert.ok(typeof refusal !== 'bigint' && refusal.refused === 'rejected');
      isRefusing = false;
      assert.equal(await estimateGas(rpc, question, 'latest'), 60_000n);
      assert.equal(parameters.at(-1), 2);
    });
  }

  it('gas estimate: a network that takes one parameter is asked with two once, and with one from then on', async (test) => {
    const parameters: number[] = [];
    const node = await startFakeNode(test, (request) =>
      answering(request, ({ method, params }) => {
        if (method === 'eth_chainId') return null;
        parameters.push(params.length);
        return params.length > 1 ? words('too many arguments, want at most 1', -32602) : '0xea60';
      }),
    );
    const network = evmNetwork();
    const rpcUrls = [{ url: node.url, weight: 1 }];
    const rpc = createRpc({ network, rpcUrls, rpcTimeoutMs: 3_000, log: rememberingLog() }, evmDialect(31337n));
    test.after(() => rpc.close());
    for (let round = 0; round < 3; round += 1) assert.equal(await estimateGas(rpc, question, 'latest'), 60_000n);
    await readTransactionLimit(rpc, question.from);
    assert.deepEqual(parameters, [2, 1, 1, 1, 1]);
  });

  it('gas estimate: one below what Ethereum charges before execution is raised to that', async (test) => {
    assert.equal(await estimate(test, ['0x5208']), 53_016n);
  });
});
