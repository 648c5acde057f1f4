import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { Agent } from 'undici';
import { type PostOutcome, post } from '../../src/webhooks/post.js';
import { startHttpReceiver } from '../support/http-receiver.js';
import { waitFor } from '../support/wait-for.js';

function poster(test: TestContext, timeoutMs = 5000, signal = new AbortController().signal): (url: string) => Promise<PostOutcome> {
  const dispatcher = new Agent();
  test.after(() => dispatcher.destroy());
  return (url) => post(dispatcher, { url, headers: { 'x-one': '1' }, body: Buffer.from('{"a":"ü"}'), timeoutMs, signal });
}

describe('post', () => {
  it('post: sends the exact bytes and reuses its connections', async (test) => {
    const receiver = await startHttpReceiver(test, (response) => response.writeHead(204).end());
    const send = poster(test);
    for (let sent = 0; sent < 10; sent += 1) await send(receiver.url('/hook?x=1'));
    const [first] = receiver.requests;
    assert.equal(first?.method, 'POST');
    assert.equal(first.path, '/hook?x=1');
    assert.equal(first.headers['x-one'], '1');
    assert.equal(first.headers['content-length'], '10');
    assert.deepEqual(first.body, Buffer.from('{"a":"ü"}'));
    const connections = new Set(receiver.requests.map(({ port }) => port)).size;
    assert.ok(connections <= 2, `${connections} connections`);
  });

  it('post: does not follow redirects', async (test) => {
    const receiver = await startHttpReceiver(test, (response) => response.writeHead(307, { location: '/elsewhere' }).end());
    const outcome = await poster(test)(receiver.url('/'));
    assert.equal(outcome.kind === 'answered' && outcome.httpStatus, 307);
    assert.equal(receiver.requests.length, 1);
  });

  it('post: returns Retry-After and the escaped beginning of the answer', async (test) => {
    const receiver = await startHttpReceiver(test, (response) => {
      response.writeHead(503, { 'retry-after': '7' }).end(`\x1b[2Jbusy\n${'x'.repeat(5000)}`);
    });
    assert.deepEqual(await poster(test)(receiver.url('/')), {
      kind: 'answered',
      httpStatus: 503,
      retryAfter: '7',
      excerpt: `\\u{1b}[2Jbusy\\u{a}${'x'.repeat(1015)}`,
    });
  });

  it('post: stops reading an endless answer', async (test) => {
    let closed = false;
    const receiver = await startHttpReceiver(test, (response) => {
      response.on('close', () => {
        closed = true;
      });
      pourForEver(response);
    });
    const outcome = await poster(test)(receiver.url('/'));
    assert.equal(outcome.kind === 'answered' && outcome.httpStatus, 200);
    await waitFor('the connection to be dropped', () => closed || undefined);
  });

  it('post: ends after its time limit without an answer', async (test) => {
    const receiver = await startHttpReceiver(test, () => undefined);
    assert.deepEqual(await poster(test, 100)(receiver.url('/')), { kind: 'unanswered', error: 'no response within 0.1 s' });
  });

  it('post: returns the status of an answer whose body never ends', async (test) => {
    const receiver = await startHttpReceiver(test, (response) => response.writeHead(200).write('begun'));
    assert.deepEqual(await poster(test, 200)(receiver.url('/')), {
      kind: 'answered',
      httpStatus: 200,
      retryAfter: undefined,
      excerpt: 'begun',
    });
  });

  it('post: ends when its signal aborts', async (test) => {
    const stop = new AbortController();
    const receiver = await startHttpReceiver(test, () => stop.abort());
    assert.deepEqual(await poster(test, 5000, stop.signal)(receiver.url('/')), {
      kind: 'unanswered',
      error: 'the service stopped before the receiver answered',
    });
  });

  it('post: returns an error if the target does not listen, disconnects, or does not speak HTTP', async (test) => {
    const server = createServer((socket) => socket.resume().end('220 mail.acme.com ESMTP\r\n'));
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    const address = server.address();
    assert(typeof address === 'object' && address !== null);
    const url = `http://127.0.0.1:${address.port}/`;
    assert.equal((await poster(test)(url)).kind, 'unanswered');
    await new Promise((closed) => server.close(closed));
    const outcome = await poster(test)(url);
    assert.match(outcome.kind === 'unanswered' ? outcome.error : '', /ECONNREFUSED/);
  });
});

function pourForEver(response: ServerResponse): void {
  if (response.destroyed) return;
  if (response.write(Buffer.alloc(8192))) setImmediate(pourForEver, response);
  else response.once('drain', () => pourForEver(response));
}
