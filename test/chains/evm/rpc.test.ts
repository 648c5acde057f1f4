import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { inspect } from 'node:util';
import { NodeError } from '../../../src/chains/evm/node-error.js';
import { createRpc, type Rpc } from '../../../src/chains/evm/rpc.js';
import { DomainError } from '../../../src/core/errors.js';
import type { RpcUrl } from '../../../src/core/relayer/network.js';
import { type Anvil, startAnvil } from '../../support/anvil.js';
import { rememberingLog } from '../../support/evm.js';

const secret = 'k3y-that-must-not-show';
const opened: Rpc[] = [];
const servers: Server[] = [];
let node: Anvil;
let otherChain: Anvil;
let deadUrl: string;

before(async () => {
  [node, otherChain] = await Promise.all([startAnvil(), startAnvil({ chainId: 5 })]);
  const taken = await startAnvil();
  deadUrl = taken.url;
  await taken.stop();
});

after(async () => {
  await Promise.all(opened.map((rpc) => rpc.close()));
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
  await Promise.all([node.stop(), otherChain.stop()]);
});

function open(...urls: readonly RpcUrl[]): { rpc: Rpc; lines: readonly string[] } {
  const log = rememberingLog();
  const rpc = createRpc({ chainId: 31337n, networkName: 'test-network', urls, timeoutMs: 1500, log });
  opened.push(rpc);
  return { rpc, lines: log.lines };
}

/** A node that is not one: it answers each method as told, and remembers the methods it was asked. */
async function startFakeNode(
  answer: (method: string) => { status?: number; body: string } | 'hang up' | 'say nothing',
): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      const { method } = JSON.parse(body);
      asked.push(method);
      const told = answer(method);
      if (told === 'hang up') request.socket.destroy();
      else if (told !== 'say nothing') response.writeHead(told.status ?? 200, { 'content-type': 'application/json' }).end(told.body);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/${secret}?key=${secret}`, asked };
}

const result = (value: unknown): { body: string } => ({ body: JSON.stringify({ jsonrpc: '2.0', id: 1, result: value }) });
const chainId = result('0x7a69');

async function isUnavailable(asking: Promise<unknown>): Promise<DomainError> {
  const error = await asking.then(
    () => assert.fail('it was answered'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof DomainError);
  assert.deepEqual([error.kind, error.reason], ['unavailable', 'NODE_UNAVAILABLE']);
  assert.equal(error.message, "the network's nodes cannot be asked now");
  return error;
}

describe('failover', () => {
  it('asks the next URL when one is dead, and says so once', async () => {
    const { rpc, lines } = open({ url: deadUrl, weight: 100 }, { url: node.url, weight: 1 });
    assert.equal(await rpc.ask('eth_chainId', []), '0x7a69');
    assert.equal(await rpc.ask('eth_chainId', []), '0x7a69');
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', /ECONNREFUSED/);
  });

  it('asks in the order of weight, and those of weight 0 not at all', async () => {
    const heavy = await startFakeNode((method) => (method === 'eth_chainId' ? chainId : result('heavy')));
    const light = await startFakeNode((method) => (method === 'eth_chainId' ? chainId : result('light')));
    const unused = await startFakeNode(() => chainId);
    const { rpc } = open({ url: unused.url, weight: 0 }, { url: light.url, weight: 1 }, { url: heavy.url, weight: 2 });
    assert.equal(await rpc.ask('eth_name', []), 'heavy');
    assert.deepEqual([heavy.asked, light.asked, unused.asked], [['eth_chainId', 'eth_name'], [], []]);
  });

  it('asks the next URL when one answers nonsense, an overload, or too much', async () => {
    const rateLimit = JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32005, message: 'slow down' } });
    const answers = [
      { body: '<html>' },
      { status: 502, body: '' },
      { status: 429, body: rateLimit },
      { body: rateLimit },
      { body: `"${'x'.repeat(33 * 1024 * 1024)}"` },
    ];
    for (const told of answers) {
      const bad = await startFakeNode((method) => (method === 'eth_chainId' ? chainId : told));
      const { rpc } = open({ url: bad.url, weight: 2 }, { url: node.url, weight: 1 });
      assert.equal(await rpc.ask('eth_blockNumber', []), '0x0');
      assert.deepEqual(bad.asked, ['eth_chainId', 'eth_blockNumber']);
    }
  });

  it('asks the next URL when one does not answer in time', async () => {
    const silent = await startFakeNode((method) => (method === 'eth_chainId' ? chainId : 'say nothing'));
    const { rpc, lines } = open({ url: silent.url, weight: 2 }, { url: node.url, weight: 1 });
    assert.equal(await rpc.ask('eth_blockNumber', []), '0x0');
    assert.match(lines[0] ?? '', /did not answer in time/);
  });

  it('repeats a call whose kept-alive connection was closed', async () => {
    let hangUps = 0;
    const flaky = await startFakeNode((method) => {
      if (method === 'eth_chainId') return chainId;
      hangUps += 1;
      return hangUps === 1 ? 'hang up' : result('0x1');
    });
    const { rpc } = open({ url: flaky.url, weight: 1 });
    assert.equal(await rpc.ask('eth_blockNumber', []), '0x1');
  });

  it('does not ask another node what one has refused', async () => {
    const other = await startFakeNode(() => chainId);
    const { rpc } = open({ url: node.url, weight: 2 }, { url: other.url, weight: 1 });
    await assert.rejects(rpc.call('eth_sendRawTransaction', ['0x00']), NodeError);
    await isUnavailable(rpc.ask('eth_sendRawTransaction', ['0x00']));
    assert.deepEqual(other.asked, []);
  });

  it('ends as NODE_UNAVAILABLE when nobody can be asked', async () => {
    await isUnavailable(open({ url: deadUrl, weight: 1 }).rpc.call('eth_chainId', []));
    await isUnavailable(open().rpc.call('eth_chainId', []));
  });
});

describe('the chain id', () => {
  it('is asked once, before anything else', async () => {
    const fake = await startFakeNode((method) => (method === 'eth_chainId' ? chainId : result('0x1')));
    const { rpc } = open({ url: fake.url, weight: 1 });
    await Promise.all([rpc.ask('eth_a', []), rpc.ask('eth_b', [])]);
    await rpc.ask('eth_c', []);
    assert.deepEqual([fake.asked[0], [...fake.asked].sort()], ['eth_chainId', ['eth_a', 'eth_b', 'eth_c', 'eth_chainId']]);
  });

  it('of another chain keeps a URL from being used, and is logged', async () => {
    const { rpc, lines } = open({ url: otherChain.url, weight: 1 });
    await isUnavailable(rpc.call('eth_sendRawTransaction', ['0x00']));
    await isUnavailable(rpc.call('eth_sendRawTransaction', ['0x00']));
    assert.equal(lines.length, 1);
    assert.deepEqual(JSON.parse(lines[0] ?? ''), {
      level: 'error',
      network: 'test-network',
      host: new URL(otherChain.url).host,
      expected: '31337',
      answered: '0x5',
      message: 'an RPC URL is on another chain and is not used',
    });
  });

  it('of another chain leaves the other URLs in use', async () => {
    const { rpc } = open({ url: otherChain.url, weight: 2 }, { url: node.url, weight: 1 });
    assert.equal(await rpc.ask('eth_chainId', []), '0x7a69');
  });

  it('is asked again after a failure: another node may answer behind the URL', async () => {
    let isDown = false;
    let current = chainId;
    const fake = await startFakeNode((method) => {
      if (isDown) return { status: 503, body: '' };
      return method === 'eth_chainId' ? current : result('0x1');
    });
    const { rpc } = open({ url: fake.url, weight: 1 });
    await rpc.ask('eth_a', []);
    isDown = true;
    await isUnavailable(rpc.ask('eth_b', []));
    isDown = false;
    current = result('0x1');
    await isUnavailable(rpc.ask('eth_c', []));
    assert.deepEqual(fake.asked, ['eth_chainId', 'eth_a', 'eth_b', 'eth_chainId']);
  });
});

describe('secrets of a URL', () => {
  it('show neither in errors nor in logs, nor when a node repeats them', async () => {
    const echo = await startFakeNode((method) =>
      method === 'eth_chainId'
        ? chainId
        : { body: JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32000, message: `bad key ${secret}` } }) },
    );
    const down = await startFakeNode(() => ({ status: 401, body: secret }));
    const dead = deadUrl.replace('http://', `http://user:${secret}@`);
    const wrong = await startFakeNode(() => result('0x5'));
    const shown: unknown[] = [];
    for (const url of [echo.url, down.url, `${dead}/${secret}`, wrong.url]) {
      const { rpc, lines } = open({ url, weight: 1 });
      shown.push(await rpc.call('eth_x', []).catch((error: unknown) => error), lines);
    }
    const text = inspect(shown, { depth: 10 });
    assert.match(text, /bad key \*\*\*/);
    assert.match(text, /HTTP 401/);
    assert.match(text, /ECONNREFUSED/);
    assert.match(text, /another chain/);
    assert.ok(!text.includes(secret), text);
  });

  it('do not show when the URL cannot be read', () => {
    assert.throws(
      () => open({ url: `http:// bad/${secret}`, weight: 1 }),
      (error) => !inspect(error).includes(secret),
    );
  });
});
