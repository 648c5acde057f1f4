import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { rest } from '../support/callers.js';
import { startHttpReceiver } from '../support/http-receiver.js';
import { apiKey, createServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

/** The service promises 10.5 s; a loaded machine adds to that. */
const patienceMs = 25_000;
const transfer = { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: 1 };

/** Starts a server that accepts connections and never answers. */
async function startSilence(test: TestContext): Promise<{ url: string; connections: () => number }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket.on('error', () => undefined)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  test.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, connections: () => sockets.size };
}

describe('SIGTERM while everything outside hangs', () => {
  it('stop: ends by one deadline with exit code 0 and a free lock, though nodes, receivers, callers and the collector hang', async (test) => {
    const nodes = await Promise.all([startSilence(test), startSilence(test), startSilence(test)]);
    const collector = await startSilence(test);
    const receiver = await startHttpReceiver(test, () => undefined);
    const [rpcUrl = '', ...moreRpcUrls] = nodes.map(({ url }) => url);
    const home = await createServiceHome({
      rpcUrl,
      moreRpcUrls,
      notifications: [{ id: 'hook', type: 'webhook', url: receiver.url('/') }],
      notificationId: 'hook',
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
    });
    test.after(() => home.remove());
    const service = await startService(home);
    test.after(() => service.kill());

    assert.equal((await rest(service.baseUrl, 'POST', '/relayers/r1/transactions', transfer)).status, 200);
    await waitFor('a webhook to hang', () => receiver.requests[0]);
    await waitFor('a node to hang', () => (nodes.some(({ connections }) => connections() > 0) ? true : undefined));
    await waitFor('the collector to hang', () => (collector.connections() > 0 ? true : undefined));
    const session = connect(service.baseUrl);
    session.on('error', () => undefined);
    const headers = { ':method': 'GET', ':path': '/api/v1/relayers/r1/balance', authorization: `Bearer ${apiKey}` };
    session.request(headers).on('error', () => undefined);
    const begunMs = performance.now();
    const code = await service.stop();
    const tookMs = performance.now() - begunMs;
    session.destroy();
    assert.equal(code, 0, service.output());
    assert.ok(tookMs < patienceMs, `the stop took ${tookMs} ms`);
    test.diagnostic(`the stop took ${Math.round(tookMs)} ms`);

    const next = await startService(home);
    await next.kill();
  });
});
