import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import { evmDialect } from '../../../src/chains/evm/dialect.js';
import { createNodes, type Nodes } from '../../../src/chains/rpc/nodes.js';
import { DomainError } from '../../../src/core/errors/errors.js';
import { evmNetwork } from '../../support/evm.js';
import { type HttpReceiver, startHttpReceiver } from '../../support/http-receiver.js';
import { silentLog } from '../../support/stored-samples.js';
import { waitFor } from '../../support/wait-for.js';

/** Starts a node that knows its chain ID and answers everything else with `answer`. */
async function startNode(test: TestContext, answer: (response: ServerResponse, body: string) => void): Promise<HttpReceiver> {
  return startHttpReceiver(test, (response, { body }) => {
    const text = body.toString();
    if (text.includes('eth_chainId')) response.end('{"jsonrpc":"2.0","id":1,"result":"0x1"}');
    else answer(response, text);
  });
}

function forwarderTo(test: TestContext, ...urls: readonly string[]): Nodes['methods'] {
  const rpcUrls = urls.map((url, index) => ({ url, weight: 100 - index }));
  const { methods } = createNodes({ network: evmNetwork(), rpcUrls, rpcTimeoutMs: 5_000, log: silentLog }, evmDialect(1n));
  test.after(() => methods.close());
  return methods;
}

describe('forwarded RPC call', () => {
  it('forwarded RPC call: forwards params and result digit for digit', async (test) => {
    const resultJson = '{"big": 123456789012345678901234567890, "exact":1.10,"text":"\\u00e9"}';
    const node = await startNode(test, (response) => response.end(`{"jsonrpc":"2.0","id":1,"result":${resultJson}}`));
    const forwarder = forwarderTo(test, node.url('/'));
    const paramsJson = '{"min": 99999999999999999999, "list":[1.0]}';
    assert.deepEqual(await forwarder.forward('eth_call', paramsJson), { resultJson });
    assert.equal(node.requests.at(-1)?.body.toString(), `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":${paramsJson}}`);
    await forwarder.forward('eth_call', null);
    assert.equal(node.requests.at(-1)?.body.toString(), '{"jsonrpc":"2.0","id":1,"method":"eth_call"}');
  });

  for (const code of ['2147483648', '-1e20', '1.5', '"3"', 'null']) {
    it(`forwarded RPC call: reports an invalid error code (${code}) as 0`, async (test) => {
      const node = await startNode(test, (response) => response.end(`{"jsonrpc":"2.0","id":1,"error":{"code":${code},"message":"no"}}`));
      assert.deepEqual(await forwarderTo(test, node.url('/')).forward('eth_call', '[]'), { code: 0, message: 'no', dataJson: null });
    });
  }

  it('forwarded RPC call: drops error data that is nested too deeply', async (test) => {
    const data = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const body = `{"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"no","data":${data}}}`;
    const node = await startNode(test, (response) => response.end(body));
    assert.deepEqual(await forwarderTo(test, node.url('/')).forward('eth_call', '[]'), { code: 3, message: 'no', dataJson: null });
  });

  it('forwarded RPC call: returns the node’s error, with the provider’s key masked', async (test) => {
    const error = { code: 3, message: 'reverted by my-secret-key', data: { reason: '0x08', url: 'my-secret-key', big: 1 } };
    const node = await startNode(test, (response) => response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, error })));
    assert.deepEqual(await forwarderTo(test, node.url('/v2/my-secret-key')).forward('eth_call', '[]'), {
      code: 3,
      message: 'reverted by ***',
      dataJson: '{"reason":"0x08","url":"***","big":1}',
    });
  });

  it('forwarded RPC call: tries the next node if one cannot answer', async (test) => {
    const missing = JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32601, message: 'the method does not exist' } });
    const without = await startNode(test, (response) => response.end(missing));
    const broken = await startNode(test, (response) => response.writeHead(500).end());
    const other = await startNode(test, (response) => response.end('{"jsonrpc":"2.0","id":1,"result":[]}'));
    assert.deepEqual(await forwarderTo(test, without.url('/'), broken.url('/'), other.url('/')).forward('eth_getProof', '[]'), {
      resultJson: '[]',
    });
    assert.deepEqual(await forwarderTo(test, without.url('/')).forward('eth_getProof', '[]'), {
      code: -32601,
      message: 'the method does not exist',
      dataJson: null,
    });
  });

  it('forwarded RPC call: fails if no node is reachable or the node serves another chain', async (test) => {
    const unavailable = (error: unknown) => error instanceof DomainError && error.reason === 'NODE_UNAVAILABLE';
    await assert.rejects(forwarderTo(test, 'http://127.0.0.1:9/').forward('eth_call', '[]'), unavailable);
    const foreign = await startHttpReceiver(test, (response) => response.end('{"jsonrpc":"2.0","id":1,"result":"0x2"}'));
    await assert.rejects(forwarderTo(test, foreign.url('/')).forward('eth_call', '[]'), unavailable);
    assert.ok(
      foreign.requests.every(({ body }) => body.includes('eth_chainId')),
      'the node of another chain gets no other call',
    );
  });

  it('forwarded RPC call: rejects a seventeenth concurrent call', async (test) => {
    const waiting: ServerResponse[] = [];
    const node = await startNode(test, (response) => waiting.push(response));
    const forwarder = forwarderTo(test, node.url('/'));
    const asked = Array.from({ length: 16 }, () => forwarder.forward('eth_getLogs', '[]'));
    await waitFor('all calls to reach the node', () => (waiting.length === 16 ? true : undefined));
    await assert.rejects(
      forwarder.forward('eth_getLogs', '[]'),
      (error) => error instanceof DomainError && error.reason === 'SERVICE_UNAVAILABLE',
    );
    for (const response of waiting) response.end('{"jsonrpc":"2.0","id":1,"result":1}');
    assert.equal((await Promise.all(asked)).length, 16);
    waiting.length = 0;
    const again = forwarder.forward('eth_getLogs', '[]');
    await waitFor('the call to reach the node', () => (waiting.length === 1 ? true : undefined));
    waiting[0]?.end('{"jsonrpc":"2.0","id":1,"result":1}');
    assert.deepEqual(await again, { resultJson: '1' });
  });
});
