import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { FetchRequest, JsonRpcProvider } from 'ethers';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { type AppRig, keys, startAppRig } from '../support/app-rig.js';
import { apiKey } from '../support/service.js';

const path = '/api/v1/relayers/r1/rpc';
const chainId = { jsonrpc: '2.0', method: 'eth_chainId', params: [] };

describe('JSON-RPC over REST', () => {
  let anvil: Anvil;
  let rig: AppRig;
  before(async () => {
    anvil = await startAnvil();
    rig = await startAppRig({ rpcUrl: anvil.url, env: { RATE_LIMIT_REQUESTS_PER_SECOND: '1', RATE_LIMIT_BURST_SIZE: '60' } });
    await anvil.rpc('anvil_setBalance', [rig.home.address, '0xde0b6b3a7640000']);
  });
  after(async () => {
    await rig?.stop();
    await anvil?.stop();
  });

  const ask = async (body: unknown, key: string = apiKey) => {
    const answer = await rig.ask('POST', path, { body: JSON.stringify(body), headers: { authorization: `Bearer ${key}` } });
    return { status: answer.status, body: JSON.parse(answer.text) };
  };

  it("JSON-RPC: ethers' JsonRpcProvider starts, reads in batches and reads refusals", async () => {
    const request = new FetchRequest(rig.baseUrl + path);
    request.setHeader('authorization', `Bearer ${apiKey}`);
    const provider = new JsonRpcProvider(request);
    const [network, block, balance] = await Promise.all([
      provider.getNetwork(),
      provider.getBlockNumber(),
      provider.getBalance(rig.home.address),
    ]);
    assert.equal(network.chainId, 31337n);
    assert.equal(typeof block, 'number');
    assert.equal(balance, 10n ** 18n);
    await assert.rejects(provider.send('eth_sendRawTransaction', ['0x']), /eth_sendRawTransaction/);
    provider.destroy();
  });

  it('JSON-RPC: a batch is answered in its order, each call by itself', async () => {
    const { status, body } = await ask([
      { ...chainId, id: 7 },
      { jsonrpc: '2.0', method: 'eth_sendTransaction', id: 'a' },
      { ...chainId, params: 5, id: 3 },
      { ...chainId, id: 4, more: true },
      5,
      { ...chainId, id: { x: 1 } },
      { ...chainId, id: 8 },
    ]);
    assert.equal(status, 200);
    assert.deepEqual(
      body.map(({ id, result, error }: { id: unknown; result?: string; error?: { code: number } }) => [id, result ?? error?.code]),
      [
        [7, '0x7a69'],
        ['a', -32601],
        [3, -32602],
        [4, -32600],
        [null, -32600],
        [null, -32600],
        [8, '0x7a69'],
      ],
    );
  });

  it('JSON-RPC: a refused call is a JSON-RPC error in HTTP 200', async () => {
    const { status, body } = await ask({ jsonrpc: '2.0', method: 'eth_sign', params: [], id: 9 });
    assert.deepEqual([status, body.jsonrpc, body.id, body.error.code], [200, '2.0', 9, -32601]);
    assert.equal(body.error.message, 'method must be an allowed read-only evm method; eth_sign is not');
  });

  it('JSON-RPC: a batch has 1 to 50 calls', async () => {
    for (const calls of [0, 51]) {
      const { status, body } = await ask(Array.from({ length: calls }, (_, id) => ({ ...chainId, id })));
      assert.deepEqual([status, body.id, body.error.code], [200, null, -32600]);
    }
  });

  it('JSON-RPC: the key, its relayers and the path are checked for the request as a whole', async () => {
    assert.equal((await ask([chainId], keys.notifier)).status, 403);
    assert.equal((await ask([chainId, chainId], keys.onlyR2)).status, 403);
    const unknown = await rig.ask('POST', '/api/v1/relayers/nobody/rpc', { body: JSON.stringify([chainId]) });
    assert.equal(unknown.status, 404);
  });

  it('JSON-RPC: each call of a batch takes a token of the rate limit', async () => {
    const calls = Array.from({ length: 50 }, (_, id) => ({ ...chainId, id }));
    const first = await ask(calls, keys.reader);
    assert.equal(first.body.filter(({ result }: { result?: string }) => result === '0x7a69').length, 50);
    const second = await ask(calls, keys.reader);
    assert.equal(second.status, 200);
    const limited = second.body.filter(({ error }: { error?: { code: number } }) => error?.code === -32005).length;
    assert.ok(limited >= 30, `${limited} calls were over the limit`);
  });
});
