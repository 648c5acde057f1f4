import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as requestHttp1 } from 'node:http';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { after, before, describe, it } from 'node:test';
import { setTimeout as elapsed } from 'node:timers/promises';
import { rest } from '../support/callers.js';
import { envelope } from '../support/raw-rpc.js';
import { apiKey, createServiceHome, type RunningService, type ServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

/** More than the buffers of a connection hold, so that a watch of a caller that does not read waits until it can write. */
const largeTransactions = 50;
const transfer = { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: '1' };
const largeData = `0x${'00'.repeat(130_000)}`;
/** A process that stops takes a fraction of a second; one that waits for the deadlines of these calls, an hour. */
const patienceMs = 30_000;
const leavingCallers = 30;

const watch = '/relayer.v1.TransactionService/WatchTransactions';
const send = '/relayer.v1.TransactionService/SendTransaction';
const deadlines = {
  'application/json': { 'connect-timeout-ms': '3600000' },
  'application/connect+json': { 'connect-timeout-ms': '3600000' },
  'application/grpc-web+json': { 'grpc-timeout': '1H' },
  'application/grpc+json': { 'grpc-timeout': '1H', te: 'trailers' },
} as const;
type ContentType = keyof typeof deadlines;

describe('SIGTERM after callers have left', () => {
  let home: ServiceHome;
  let service: RunningService;

  before(async () => {
    // No node listens there, so transactions stay pending.
    home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9' });
    service = await startService(home);
  });

  after(async () => {
    await service?.kill();
    await home?.remove();
  });

  /** Stops the service as an operator does, and starts it again for the next test. */
  async function stopAndStart(): Promise<void> {
    const code = await Promise.race([service.stop(), elapsed(patienceMs, 'still running', { ref: false })]);
    await service.kill();
    service = await startService(home);
    assert.equal(code, 0);
  }

  /** Resolves when the service has logged the end of this number of calls to the path. */
  async function untilOver(path: string, calls: number): Promise<void> {
    const isOver = () => service.output().split(`"path":"${path}"`).length > calls;
    await waitFor(`the end of ${calls} calls of ${path}`, () => (isOver() ? true : undefined));
  }

  function openHttp2(session: ClientHttp2Session, path: string, type: ContentType, message: object): ClientHttp2Stream {
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': type, ...deadlines[type] };
    const stream = session.request({ ':method': 'POST', ':path': path, ...headers });
    return stream.on('error', () => undefined).end(bodyOf(type, message));
  }

  it('stop: calls whose callers left before the answer do not keep the process', async () => {
    const types: readonly ContentType[] = ['application/json', 'application/grpc-web+json', 'application/grpc+json'];
    for (const type of types) {
      const session = connect(service.baseUrl);
      for (let number = 0; number < leavingCallers; number++) {
        const stream = openHttp2(session, send, type, { relayerId: 'r1', evm: transfer });
        await once(stream, 'finish');
        stream.close();
      }
      await new Promise<void>((closed) => session.close(closed));
    }
    await stopAndStart();
  });

  it('stop: watches whose callers read nothing and left do not keep the process', async () => {
    for (let sent = 0; sent < largeTransactions; sent++) {
      const { status, text } = await rest(service.baseUrl, 'POST', '/relayers/r1/transactions', { ...transfer, data: largeData });
      assert.equal(status, 200, text);
    }
    const types: readonly ContentType[] = ['application/connect+json', 'application/grpc-web+json', 'application/grpc+json'];
    for (const type of types) {
      const session = connect(service.baseUrl);
      await once(openHttp2(session, watch, type, { relayerId: 'r1' }), 'readable');
      session.destroy();
    }
    for (const type of types.slice(0, 2)) {
      const headers = { authorization: `Bearer ${apiKey}`, 'content-type': type, ...deadlines[type] };
      const request = requestHttp1(`${service.baseUrl}${watch}`, { method: 'POST', headers, agent: false });
      const [response] = await once(request.end(bodyOf(type, { relayerId: 'r1' })), 'response');
      await once(response, 'readable');
      request.on('error', () => undefined).destroy();
    }
    await untilOver(watch, 5);
    await stopAndStart();
  });
});

function bodyOf(type: ContentType, message: object): Uint8Array {
  const text = Buffer.from(JSON.stringify(message));
  return type === 'application/json' ? text : envelope(text);
}
