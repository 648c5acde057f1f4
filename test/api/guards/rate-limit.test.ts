import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http2';
import { after, before, describe, it } from 'node:test';
import { create, toBinary } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { encodeEnvelope } from '@connectrpc/connect/protocol';
import { endStreamFromJson, errorFromJson } from '@connectrpc/connect/protocol-connect';
import { findTrailerError } from '@connectrpc/connect/protocol-grpc';
import { trailerParse } from '@connectrpc/connect/protocol-grpc-web';
import { ErrorInfoSchema } from '../../../gen/google/rpc/error_details_pb.js';
import { GetTransactionRequestSchema, WatchTransactionsRequestSchema } from '../../../gen/relayer/v1/transaction_service_pb.js';
import { DomainError } from '../../../src/core/errors/errors.js';
import { type Rig, signingKey, startRig, testKey } from '../../support/api-rig.js';
import { type Http2Answer, requestHttp2, sendRaw } from '../../support/raw-http.js';

const authorization = `Bearer ${testKey}`;
const service = '/relayer.v1.TransactionService';
const sentence = 'the key is over its rate limit (1 per second, bursts of 2); retry in 1 s';

const getRequest = (transactionId: string) =>
  toBinary(GetTransactionRequestSchema, create(GetTransactionRequestSchema, { relayerId: 'r', transactionId }));
const watchRequest = toBinary(WatchTransactionsRequestSchema, create(WatchTransactionsRequestSchema, { relayerId: 'r' }));

function post(path: string, contentType: string, body: Uint8Array): (origin: string) => Promise<Http2Answer> {
  return (origin) => requestHttp2(origin, { ':method': 'POST', ':path': path, 'content-type': contentType, authorization }, body);
}

/** The last envelope of a stream: trailers in gRPC-Web, the end in Connect. */
function lastEnvelope(body: Buffer): Buffer {
  let at = 0;
  while (at + 5 + body.readUInt32BE(at + 1) < body.length) at += 5 + body.readUInt32BE(at + 1);
  return body.subarray(at + 5);
}

function headersFrom(headers: IncomingHttpHeaders): Headers {
  return new Headers(Object.entries(headers).flatMap(([name, value]) => (name.startsWith(':') ? [] : [[name, String(value)]])));
}

/** How a method that is limited is called by each protocol, and how its error is read: the transaction `missing` does not exist. */
const rpcs: Readonly<
  Record<
    string,
    { status: number; call(id: string): (origin: string) => Promise<Http2Answer>; errorOf(answer: Http2Answer): ConnectError | undefined }
  >
> = {
  gRPC: {
    status: 200,
    call: (id) => post(`${service}/GetTransaction`, 'application/grpc+proto', encodeEnvelope(0, getRequest(id))),
    errorOf: ({ headers, trailers }) => findTrailerError(headersFrom('grpc-status' in headers ? headers : trailers)),
  },
  'gRPC-Web': {
    status: 200,
    call: (id) => post(`${service}/GetTransaction`, 'application/grpc-web+proto', encodeEnvelope(0, getRequest(id))),
    errorOf: ({ body }) => findTrailerError(trailerParse(lastEnvelope(body))),
  },
  Connect: {
    status: 429,
    call: (id) => post(`${service}/GetTransaction`, 'application/proto', getRequest(id)),
    errorOf: ({ headers, body }) =>
      Number(headers[':status']) === 200
        ? undefined
        : errorFromJson(JSON.parse(body.toString()), undefined, new ConnectError('not an error')),
  },
  'a Connect stream': {
    status: 200,
    call: () => post(`${service}/WatchTransactions`, 'application/connect+proto', encodeEnvelope(0, watchRequest)),
    errorOf: ({ body }) => endStreamFromJson(lastEnvelope(body)).error,
  },
  'a gRPC stream': {
    status: 200,
    call: () => post(`${service}/WatchTransactions`, 'application/grpc+proto', encodeEnvelope(0, watchRequest)),
    errorOf: ({ headers, trailers }) => findTrailerError(headersFrom('grpc-status' in headers ? headers : trailers)),
  },
};

function get(path: string, given: string | undefined = authorization): (origin: string) => Promise<Http2Answer> {
  return (origin) => requestHttp2(origin, { ':path': path, ...(given === '' ? {} : { authorization: given }) });
}

/** The rate-limit headers of an answer. */
function told({ headers }: Http2Answer) {
  return [headers['ratelimit-policy'], headers.ratelimit, headers['retry-after']];
}

const policy = '"default";q=2;w=2';

async function startLimited(clock: { nowMs: number }): Promise<Rig> {
  return startRig({
    rateLimit: { perSecond: 1, burst: 2 },
    clock: { nowMs: () => clock.nowMs },
    transactions: {
      getTransaction({ transactionId }) {
        if (transactionId === 'missing') throw new DomainError('not_found', 'TRANSACTION_NOT_FOUND', 'no such transaction');
        return { transaction: { id: transactionId } };
      },
      async *watchTransactions() {
        for (let message = 0; message < 5; message++) yield {};
      },
    },
    notifications: { listNotifications: () => ({}) },
  });
}

describe('rate limit', () => {
  const clock = { nowMs: 1_763_600_000_000 };
  let rig: Rig;
  let origin: string;
  before(async () => {
    rig = await startLimited(clock);
    origin = `http://127.0.0.1:${rig.port}`;
  });
  after(() => rig.stop());

  function fillGaps(): void {
    clock.nowMs += 2000;
  }

  it('rate limit: sends REST callers its headers on success, failure and 429', async () => {
    fillGaps();
    const first = await get('/api/v1/relayers/r/transactions/t')(origin);
    assert.deepEqual([first.headers[':status'], ...told(first)], [200, policy, '"default";r=1;t=1', undefined]);
    const second = await get('/api/v1/relayers/r/transactions/missing')(origin);
    assert.deepEqual([second.headers[':status'], ...told(second)], [404, policy, '"default";r=0;t=2', undefined]);
    const third = await get('/api/v1/relayers/r/transactions/t')(origin);
    assert.deepEqual([third.headers[':status'], ...told(third)], [429, policy, '"default";r=0;t=2', '1']);
    assert.equal(third.headers['x-error-reason'], 'RATE_LIMITED');
    assert.deepEqual(JSON.parse(third.body.toString()), { success: false, data: null, error: sentence, message: 'Too Many Requests' });
    clock.nowMs += 1000;
    const fourth = await get('/api/v1/relayers/r/transactions/t')(origin);
    assert.deepEqual([fourth.headers[':status'], ...told(fourth)], [200, policy, '"default";r=0;t=2', undefined]);
  });

  it('rate limit: sends its headers over HTTP/1.1 too', async () => {
    fillGaps();
    const ask = () =>
      sendRaw(
        rig.port,
        `GET /api/v1/relayers/r/transactions/t HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: ${authorization}\r\n\r\n`,
      );
    assert.match(await ask(), /^HTTP\/1\.1 200 [\s\S]*\r\nratelimit-policy: "default";q=2;w=2\r\nratelimit: "default";r=1;t=1\r\n/);
    await ask();
    const refused = await ask();
    assert.match(refused, /^HTTP\/1\.1 429 Too Many Requests\r\n/);
    for (const header of ['ratelimit: "default";r=0;t=2', 'retry-after: 1'])
      assert.equal(refused.split(`\r\n${header}\r\n`).length, 2, header);
  });

  for (const [protocol, { status, call, errorOf }] of Object.entries(rpcs)) {
    it(`rate limit: answers callers of ${protocol} in their own protocol`, async () => {
      fillGaps();
      const first = await call('t')(origin);
      assert.equal(errorOf(first), undefined);
      assert.deepEqual(told(first), [policy, '"default";r=1;t=1', undefined]);
      const second = await call('missing')(origin);
      if (!protocol.includes('stream')) assert.equal(errorOf(second)?.code, Code.NotFound);
      assert.deepEqual(told(second), [policy, '"default";r=0;t=2', undefined]);
      const third = await call('t')(origin);
      const error = errorOf(third);
      assert.equal(third.headers[':status'], status);
      assert.deepEqual(told(third), [policy, '"default";r=0;t=2', '1']);
      assert.equal(error?.code, Code.ResourceExhausted);
      assert.equal(error.rawMessage, sentence);
      const [info] = error.findDetails(ErrorInfoSchema);
      assert.deepEqual([info?.reason, info?.domain, info?.metadata.message], ['RATE_LIMITED', 'relayer.v1', 'Too Many Requests']);
      if (protocol.startsWith('gRPC') && !protocol.includes('Web')) {
        // Trailers-only: all is in the head, and there is no body.
        assert.equal(third.headers['grpc-status'], String(Code.ResourceExhausted));
        assert.equal(third.body.length, 0);
      }
      clock.nowMs += 1000;
      assert.equal(errorOf(await call('t')(origin)), undefined);
    });
  }

  it('rate limit: is shared by all protocols', async () => {
    fillGaps();
    await get('/api/v1/relayers/r/transactions/t')(origin);
    const rpc = rpcs.gRPC?.call('t') ?? assert.fail();
    assert.deepEqual(told(await rpc(origin)), [policy, '"default";r=0;t=2', undefined]);
    assert.equal((await get('/api/v1/relayers/r/transactions/t')(origin)).headers[':status'], 429);
  });

  it('rate limit: neither counts nor marks other methods and requests that earlier checks reject', async () => {
    fillGaps();
    const others = [
      { ask: get('/api/v1/notifications'), status: 200 },
      { ask: post('/relayer.v1.NotificationService/ListNotifications', 'application/json', Buffer.from('{}')), status: 200 },
      { ask: get('/api/v1/health', ''), status: 200 },
      { ask: get('/api/v1/relayers/r/nothing'), status: 404 },
      { ask: get('/api/v1/relayers/r/transactions/t', ''), status: 401 },
      { ask: get('/api/v1/relayers/r/transactions/t', `Bearer ${signingKey}`), status: 403 },
    ];
    for (const { ask, status } of [...others, ...others]) {
      const answer = await ask(origin);
      assert.deepEqual([answer.headers[':status'], ...told(answer)], [status, undefined, undefined, undefined]);
    }
    assert.deepEqual(told(await get('/api/v1/relayers/r/transactions/t')(origin)), [policy, '"default";r=1;t=1', undefined]);
  });

  it('rate limit: applies before the body is checked', async () => {
    fillGaps();
    const tooLarge = (from: string) =>
      requestHttp2(
        from,
        {
          ':method': 'POST',
          ':path': '/api/v1/relayers/r/transactions',
          'content-type': 'application/json',
          'content-length': '1048577',
          authorization,
        },
        Buffer.alloc(1_048_577, 0x20),
      );
    const answers = [await tooLarge(origin), await tooLarge(origin), await tooLarge(origin)];
    assert.deepEqual(
      answers.map(({ headers }) => headers[':status']),
      [413, 413, 429],
    );
    assert.deepEqual(
      answers.map(({ headers }) => headers.ratelimit),
      ['"default";r=1;t=1', '"default";r=0;t=2', '"default";r=0;t=2'],
    );
  });

  it('rate limit: sends no headers if it is off', async (test) => {
    const off = await startRig({ rateLimit: { perSecond: 0, burst: 1 }, transactions: { getTransaction: () => ({ transaction: {} }) } });
    test.after(() => off.stop());
    for (let call = 0; call < 5; call++) {
      const answer = await get('/api/v1/relayers/r/transactions/t')(`http://127.0.0.1:${off.port}`);
      assert.deepEqual([answer.headers[':status'], ...told(answer)], [200, undefined, undefined, undefined]);
    }
  });
});
