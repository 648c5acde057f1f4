import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { it, type TestContext } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { createHttpClient, rpcTargetFrom } from '../../../src/chains/rpc/http-client.js';
import { noTelemetry } from '../../../src/core/ports/telemetry.js';

/** A client of a server that answers so. */
async function clientOf(test: TestContext, answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const paths: string[] = [];
  const server = createServer(async (request, response) => {
    for await (const _ of request);
    paths.push(`${request.method} ${request.url}`);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const target = rpcTargetFrom({ url: `http://127.0.0.1:${port}/v1/key`, weight: 1 }, 'local');
  const client = createHttpClient({ target, networkName: 'local', timeoutMs: 3_000, onLost: () => {}, telemetry: noTelemetry });
  test.after(async () => {
    await client.close();
    server.closeAllConnections();
    server.close();
  });
  return { client, paths, port };
}

const answerText = JSON.stringify({ jsonrpc: '2.0', id: 1, result: 'x'.repeat(10_000) });

for (const [encoding, compress] of Object.entries({ gzip: gzipSync, 'x-gzip': gzipSync, deflate: deflateSync, br: brotliCompressSync })) {
  it(`RPC response: is read if it is compressed, asked or not: ${encoding}`, async (test) => {
    const { client } = await clientOf(test, (_, response) => {
      response.writeHead(200, { 'content-encoding': encoding }).end(compress(answerText));
    });
    assert.equal((await client.post('{}', 1)).text, answerText);
  });
}

it('RPC response: gzip is asked for', async (test) => {
  const { client } = await clientOf(test, (request, response) => response.end(request.headers['accept-encoding']));
  assert.equal((await client.post('{}', 1)).text, 'gzip');
});

it('RPC response: a small body that decompresses beyond the limit is refused, and so is a broken one', async (test) => {
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
  let body: Buffer = bomb;
  const { client } = await clientOf(test, (_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(body));
  await assert.rejects(client.post('{}', 1), { name: 'TransportError' });
  body = Buffer.from('not gzip');
  await assert.rejects(client.post('{}', 1), { name: 'TransportError' });
});

for (const status of [307, 308]) {
  it(`RPC redirect: ${status} to the same host is followed with the body; a permanent one once`, async (test) => {
    const { client, paths } = await clientOf(test, (request, response) => {
      if (request.url === '/v2') response.end(answerText);
      else response.writeHead(status, { location: '/v2' }).end();
    });
    assert.equal((await client.post('{}', 1)).text, answerText);
    assert.equal((await client.post('{}', 1)).text, answerText);
    const asked = status === 308 ? ['POST /v1/key', 'POST /v2', 'POST /v2'] : ['POST /v1/key', 'POST /v2', 'POST /v1/key', 'POST /v2'];
    assert.deepEqual(paths, asked);
  });
}

it('RPC redirect: to another host, or without an end, is not followed', async (test) => {
  const other = await clientOf(test, (_, response) => response.end('the key'));
  let location = `http://127.0.0.1:${other.port}/`;
  const { client, paths } = await clientOf(test, (_, response) => response.writeHead(308, { location }).end());
  assert.equal((await client.post('{}', 1)).statusCode, 308);
  assert.deepEqual(other.paths, []);
  location = '/again';
  assert.equal((await client.post('{}', 1)).statusCode, 308);
  assert.ok(paths.length <= 6);
});

for (const [what, userInfo, expected] of [
  ['decoded', 'user:p%40ss', 'user:p@ss'],
  ['unchanged if their encoding is invalid', 'us%ZZer:100%', 'us%ZZer:100%'],
] as const) {
  it(`RPC URL: sends user and password ${what}`, () => {
    const { origin, headers } = rpcTargetFrom({ url: `http://${userInfo}@node.example:8545/`, weight: 1 }, 'local');
    assert.equal(origin, 'http://node.example:8545');
    assert.equal(headers.authorization, `Basic ${Buffer.from(expected).toString('base64')}`);
  });
}
