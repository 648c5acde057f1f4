import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { describe, it, type TestContext } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import { rpcTargetFrom } from '../../../src/chains/rpc/http-client.js';
import { createWebSocketClient } from '../../../src/chains/rpc/web-socket-client.js';
import { noTelemetry } from '../../../src/core/ports/telemetry.js';
import { createGuardedConnector } from '../../../src/webhooks/target-guard.js';
import { startAnvil } from '../../support/anvil.js';
import { anvilSigner, openChain, signedAttempt } from '../../support/chain-rig.js';
import { waitFor } from '../../support/wait-for.js';

const request = (id: number) => JSON.stringify({ jsonrpc: '2.0', id, method: 'eth_chainId', params: [] });
const answer = (id: number) => JSON.stringify({ jsonrpc: '2.0', id, result: '0x1' });

/** A frame of a server; `first` is its first byte. */
function frame(payload: Buffer, first = 0x81): Buffer {
  if (payload.length < 126) return Buffer.concat([Buffer.from([first, payload.length]), payload]);
  const head = Buffer.alloc(10);
  head.writeUInt8(first);
  head.writeUInt8(127, 1);
  head.writeBigUInt64BE(BigInt(payload.length), 2);
  return Buffer.concat([head, payload]);
}

const textFrame = (text: string) => frame(Buffer.from(text));

/** A client of a server that calls `onData` for what comes after the handshake of each connection. */
async function clientOf(
  test: TestContext,
  onData: (socket: Duplex, connection: number) => void,
  { extension = '', timeoutMs = 2_000 } = {},
) {
  const sockets: Duplex[] = [];
  const paths: string[] = [];
  const server = createServer();
  server.on('upgrade', ({ headers, url = '' }, socket) => {
    sockets.push(socket);
    paths.push(url);
    socket.on('error', () => undefined);
    const key = createHash('sha1').update(`${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
    const chosen = extension === '' ? '' : `Sec-WebSocket-Extensions: ${extension}\r\n`;
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${key}\r\n${chosen}\r\n`,
    );
    const connection = sockets.length;
    socket.on('data', () => onData(socket, connection));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const target = rpcTargetFrom({ url: `ws://127.0.0.1:${port}/v1/secretkey`, weight: 1 }, 'local');
  const seen = { lost: 0, news: 0 };
  const client = createWebSocketClient({
    target,
    networkName: 'local',
    timeoutMs,
    onLost: () => {
      seen.lost += 1;
    },
    subscription: {
      body: request(0),
      onNews: () => {
        seen.news += 1;
      },
    },
    telemetry: noTelemetry,
  });
  test.after(async () => {
    await client.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { client, sockets, paths, seen, port };
}

describe('a WebSocket to a node', () => {
  it('gives each answer to its request, in any order, alone and in batches', async (test) => {
    let received = 0;
    const { client, sockets } = await clientOf(test, (socket) => {
      received += 1;
      if (received === 1)
        void waitFor('both requests', async () => client.calls().http === 2 || undefined).then(() =>
          socket.write(Buffer.concat([textFrame(`[${answer(8)},${answer(7)}]`), textFrame(answer(5))])),
        );
    });
    const [one, batch] = await Promise.all([client.post(request(5), 1), client.post(`[${request(7)},${request(8)}]`, 2)]);
    assert.equal(one.text, answer(5));
    assert.equal(batch.text, `[${answer(8)},${answer(7)}]`);
    assert.equal(sockets.length, 1);
    assert.deepEqual(client.calls(), { http: 2, items: 3 });
  });

  it('takes what answers no request as news', async (test) => {
    const news = JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params: {} });
    const { client, seen } = await clientOf(test, (socket) => void socket.write(Buffer.concat([textFrame(news), textFrame(answer(1))])));
    await client.post(request(1), 1);
    assert.ok(seen.news >= 1);
  });

  it('gives text without an ID to the request that waits alone, and ends if there are several', async (test) => {
    let most = 1;
    const { client, seen } = await clientOf(test, (socket) => {
      if (client.calls().http >= most) socket.write(textFrame('<html>'));
    });
    assert.equal((await client.post(request(1), 1)).text, '<html>');
    most = 3;
    const both = await Promise.allSettled([client.post(request(2), 1), client.post(request(3), 1)]);
    assert.ok(both.some(({ status }) => status === 'rejected') && seen.lost >= 1);
  });

  for (const [what, bytes] of Object.entries({
    'a message above the limit': Buffer.from([0x81, 127, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff]),
    'a masked frame': Buffer.from([0x81, 0x81, 1, 2, 3, 4, 5]),
    'an unknown kind of frame': Buffer.from([0x8f, 0]),
    'more news than heads': Buffer.concat(Array.from({ length: 1_001 }, () => textFrame('{"method":"x"}'))),
    'a close frame': Buffer.from([0x88, 0]),
  })) {
    it(`fails the requests that wait: ${what}`, async (test) => {
      const { client, sockets, seen } = await clientOf(test, (socket) => {
        socket.write(bytes);
        if (what === 'a close frame') socket.end();
      });
      await assert.rejects(client.post(request(1), 1), ({ name, message }: Error) => {
        assert.equal(name, 'TransportError');
        assert.ok(!message.includes('secretkey'));
        return true;
      });
      // It is repeated once on another connection.
      assert.equal(sockets.length, 2);
      assert.ok(seen.lost >= 1);
    });
  }

  it('fails a small message that decompresses beyond the limit', async (test) => {
    const bomb = deflateRawSync(Buffer.alloc(64 * 1024 * 1024));
    const { client } = await clientOf(test, (socket) => void socket.write(frame(bomb, 0xc1)), { extension: 'permessage-deflate' });
    await assert.rejects(client.post(request(1), 1), { name: 'TransportError' });
  });

  it('repeats a request once if the connection ends, after the node was verified again', async (test) => {
    const { client, seen } = await clientOf(test, (socket, connection) => {
      if (connection === 1) socket.destroy();
      else socket.write(textFrame(answer(1)));
    });
    let verified = 0;
    const { text } = await client.post(request(1), 1, async () => {
      verified += 1;
    });
    assert.equal(text, answer(1));
    assert.equal(verified, 1);
    assert.equal(seen.lost, 1);
  });

  it('ends a connection whose peer is silent, and opens another one', async (test) => {
    const { client, sockets } = await clientOf(
      test,
      (socket, connection) => {
        if (connection > 1) socket.write(textFrame(answer(2)));
      },
      { timeoutMs: 500 },
    );
    await assert.rejects(client.post(request(1), 1), /no response within 500 ms/);
    assert.equal((await client.post(request(2), 1)).text, answer(2));
    assert.equal(sockets.length, 2);
  });

  it('connects only where the guard allows', async (test) => {
    const { port } = await clientOf(test, () => undefined);
    const client = createWebSocketClient({
      target: rpcTargetFrom({ url: `ws://127.0.0.1:${port}/`, weight: 1 }, 'local'),
      networkName: 'local',
      timeoutMs: 2_000,
      onLost: () => undefined,
      telemetry: noTelemetry,
      connect: createGuardedConnector({ allowPrivateTargets: false, timeoutMs: 2_000 }),
    });
    test.after(() => client.close());
    await assert.rejects(client.post(request(1), 1), { name: 'TransportError', message: /TARGET_REFUSED/ });
  });
});

describe('a real node behind a WebSocket URL', () => {
  it('serves an EVM chain, announces its heads, and is used again after a restart', async (test) => {
    const node = await startAnvil();
    test.after(() => node.stop());
    const { chain } = openChain(test, [node.url.replace('http', 'ws')]);
    let announced = 0;
    chain.onNewHead?.(() => {
      announced += 1;
    });
    await chain.head();
    const { raw } = await signedAttempt(chain, 0n);
    assert.deepEqual(await chain.broadcastAll([raw]), [{ kind: 'accepted' }]);
    await waitFor('an announcement', async () => announced > 0 || undefined);
    assert.equal(await chain.sequence.nextOf(anvilSigner.address), 1n);
    process.kill(node.pid, 'SIGKILL');
    await waitFor('the node to be missed', async () => ((await chain.head().catch(() => null)) === null ? true : undefined));
    const again = await startAnvil({ port: node.port });
    test.after(() => again.stop());
    await waitFor('the head of the new node', async () => (await chain.head().catch(() => null)) ?? undefined);
  });

  it('is the second endpoint of a chain whose first one is gone', async (test) => {
    const node = await startAnvil();
    test.after(() => node.stop());
    const { chain } = openChain(test, ['http://127.0.0.1:9', node.url.replace('http', 'ws')]);
    assert.equal((await chain.head()).number, 0n);
  });
});
