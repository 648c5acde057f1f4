import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { type RestClient, restClient } from '../support/rest-client.js';
import { createServiceHome, databaseBytes, type RunningService, type ServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const secret = 'a-key-of-the-provider-0123456789';

/** A provider's gate before a node: it lets only requests with the key through, and quotes what it refuses. */
interface Gate {
  readonly host: string;
  passed: { posts: number; sockets: number };
  stop(): void;
}

async function startGate(target: string): Promise<Gate> {
  const passed = { posts: 0, sockets: 0 };
  const isOpenFor = ({ headers }: IncomingMessage) => headers['x-api-key'] === secret;
  const server: Server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    if (!isOpenFor(request)) {
      response.writeHead(403).end(`refused: ${JSON.stringify(request.headers)}`);
      return;
    }
    passed.posts += 1;
    const answer = await fetch(target, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
  });
  server.on('upgrade', (request, socket, head) => {
    if (!isOpenFor(request)) {
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
      return;
    }
    passed.sockets += 1;
    const node = connect(Number(new URL(target).port), '127.0.0.1');
    const lines = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`);
    node.write([`GET / HTTP/1.1`, ...lines, '', ''].join('\r\n'));
    node.write(head);
    socket.pipe(node).pipe(socket);
    for (const one of [socket, node]) one.on('error', () => one.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    passed,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}

describe('RPC URLs with headers', () => {
  let anvil: Anvil;
  let gate: Gate;
  let home: ServiceHome;
  let service: RunningService;
  const rest: RestClient = restClient(() => service.baseUrl);

  before(async () => {
    anvil = await startAnvil();
    gate = await startGate(anvil.url);
  });
  after(() => {
    gate?.stop();
    return anvil?.stop();
  });
  beforeEach(async () => {
    home = await createServiceHome({ rpcUrl: anvil.url });
    await anvil.rpc('anvil_setBalance', [home.address, '0xde0b6b3a7640000']);
    service = await startService(home);
  });
  afterEach(async () => {
    await service?.stop();
    await home?.remove();
  });

  async function paid(): Promise<void> {
    const sent = await rest('POST', '/relayers/r1/transactions', { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: 1 });
    assert.equal(sent.status, 200, JSON.stringify(sent.body));
    await waitFor('the payment', async () => {
      const { body } = await rest('GET', `/relayers/r1/transactions/${sent.body.data.id}`);
      return body.data.status === 'confirmed' ? true : undefined;
    });
  }

  async function nothingShows(): Promise<void> {
    assert.ok(!service.output().includes(secret), 'the log');
    assert.ok(!(await databaseBytes(home)).includes(secret), 'the database');
    for (const path of ['/networks/evm:local', '/relayers/r1', '/relayers/r1/status', '/ready', '/overview'])
      assert.ok(!JSON.stringify((await rest('GET', path)).body).includes(secret), path);
  }

  for (const scheme of ['http', 'ws'] as const) {
    it(`RPC headers: over ${scheme} the node gets them, also after a restart, and nothing else shows them`, async () => {
      const headers = [{ name: 'X-Api-Key', value: secret }];
      const url = `${scheme}://${gate.host}/v1`;
      const kind = scheme === 'http' ? 'posts' : 'sockets';
      gate.passed[kind] = 0;
      const patched = await rest('PATCH', '/networks/evm:local', { rpc_urls: [{ url, headers }] });
      assert.equal(patched.status, 200, JSON.stringify(patched.body));
      const shown = { url: `${scheme}://${gate.host}/***`, weight: 100, headers: [{ name: 'X-Api-Key', value: '***' }] };
      assert.deepEqual(patched.body.data.rpc_urls, [shown]);
      await paid();
      assert.ok(gate.passed[kind] > 0);
      // What a caller reads, it can send back: the node still gets the key.
      const again = await rest('PATCH', '/networks/evm:local', { rpc_urls: [{ ...shown, weight: 50 }] });
      assert.deepEqual(again.body.data?.rpc_urls, [{ ...shown, weight: 50 }], JSON.stringify(again.body));
      gate.passed[kind] = 0;
      await paid();
      assert.ok(gate.passed[kind] > 0);
      const other = await rest('PATCH', '/networks/evm:local', { rpc_urls: [{ ...shown, url: `${scheme}://localhost:1/***` }] });
      assert.equal(other.status, 400);
      assert.match(other.body.error, /rpc_urls\[0\]\.url is masked.*rpc_urls\[0\]\.headers\[0\]\.value is masked/);
      assert.equal(await service.stop(), 0);
      gate.passed[kind] = 0;
      service = await startService(home);
      await paid();
      assert.ok(gate.passed[kind] > 0);
      await nothingShows();
    });
  }

  it('RPC headers: a node that quotes them in a refusal does not make them seen', async () => {
    const headers = [{ name: 'Authorization', value: `Bearer ${secret}` }];
    const patched = await rest('PATCH', '/relayers/r1', { custom_rpc_urls: [{ url: `http://${gate.host}/`, headers }] });
    assert.equal(patched.status, 200, JSON.stringify(patched.body));
    await waitFor('the refusal', () => (service.output().includes(`${gate.host}`) && /403/.test(service.output()) ? true : undefined));
    await nothingShows();
  });
});
