import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { Code, ConnectError } from '@connectrpc/connect';
import { endStreamFromJson, errorFromJson } from '@connectrpc/connect/protocol-connect';
import { findTrailerError } from '@connectrpc/connect/protocol-grpc';
import { trailerParse } from '@connectrpc/connect/protocol-grpc-web';
import { BadRequestSchema, ErrorInfoSchema, RequestInfoSchema } from '../../gen/google/rpc/error_details_pb.js';
import { connectErrorFromDomainError } from '../../src/api/contract/errors.js';
import { DomainError, invalidField } from '../../src/core/errors/errors.js';
import { notificationClient, type Rig, signingKey, startRig, testKey, transports } from '../support/api-rig.js';
import { type Http2Answer, openSocket, readAll, requestHttp2, sendRaw } from '../support/raw-http.js';

const service = '/relayer.v1.NotificationService';
const key = `Bearer ${testKey}`;
const tooLarge = Buffer.alloc(1_048_577, 0x20);
let rig: Rig;
let origin: string;
before(async () => {
  rig = await startRig({
    origins: ['https://app.example.org'],
    notifications: {
      getNotification: ({ notificationId }) => ({ notification: { id: notificationId } }),
      listNotifications: ({ page }) => ({ notifications: [{ id: `of page ${page}` }] }),
      deleteNotification() {
        throw invalidField('notification_id', 'must be another');
      },
    },
  });
  origin = `http://127.0.0.1:${rig.port}`;
});
after(() => rig.stop());

/** One envelope of gRPC-Web or of Connect's streams: flags and content. */
function envelopeOf(body: Buffer): { flags: number; data: Buffer } {
  assert.equal(body.readUInt32BE(1), body.length - 5);
  return { flags: body.readUInt8(0), data: body.subarray(5) };
}

function envelope(data: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(data.length, 1);
  return Buffer.concat([head, data]);
}

function headersOf(answer: Http2Answer): Headers {
  return new Headers(
    Object.entries(answer.headers).flatMap(([name, value]) => (name.startsWith(':') ? [] : [[name, String(value)] as [string, string]])),
  );
}

/** Content type by protocol, and how an error is read out of the answer. */
const protocols: Readonly<Record<string, { contentType: string; errorOf(answer: Http2Answer): ConnectError | undefined }>> = {
  gRPC: {
    contentType: 'application/grpc',
    errorOf(answer) {
      assert.equal(answer.headers['content-type'], 'application/grpc+proto');
      assert.equal(answer.headers[':status'], 200);
      assert.equal(answer.body.length, 0);
      return findTrailerError(headersOf(answer));
    },
  },
  'gRPC-Web': {
    contentType: 'application/grpc-web+proto',
    errorOf(answer) {
      assert.equal(answer.headers['content-type'], 'application/grpc-web+proto');
      assert.equal(answer.headers[':status'], 200);
      const { flags, data } = envelopeOf(answer.body);
      assert.equal(flags, 0x80);
      return findTrailerError(trailerParse(data));
    },
  },
  'Connect stream': {
    contentType: 'application/connect+json',
    errorOf(answer) {
      assert.equal(answer.headers['content-type'], 'application/connect+json');
      assert.equal(answer.headers[':status'], 200);
      const { flags, data } = envelopeOf(answer.body);
      assert.equal(flags, 2);
      return endStreamFromJson(data).error;
    },
  },
  'Connect unary': {
    contentType: 'application/proto',
    errorOf(answer) {
      assert.equal(answer.headers['content-type'], 'application/json');
      return errorFromJson(JSON.parse(answer.body.toString()), undefined, new ConnectError('not an error'));
    },
  },
};

/** A mistake in a request, and the error for it: code, Connect's HTTP status, the reason, the fixed text. */
const refusals = [
  {
    what: 'no key',
    headers: { authorization: undefined },
    code: Code.Unauthenticated,
    status: 401,
    reason: 'CREDENTIALS_INVALID',
    text: 'Unauthorized',
  },
  {
    what: 'a wrong key',
    headers: { authorization: 'Bearer wrong' },
    code: Code.Unauthenticated,
    status: 401,
    reason: 'CREDENTIALS_INVALID',
    text: 'Unauthorized',
  },
  {
    what: 'a key without the scope',
    headers: { authorization: `Bearer ${signingKey}` },
    code: Code.PermissionDenied,
    status: 403,
    reason: 'SCOPE_MISSING',
    text: 'Forbidden',
    values: { scope: 'notifications' },
  },
  {
    what: 'an unknown method',
    headers: { ':path': `${service}/Nothing` },
    code: Code.Unimplemented,
    status: 404,
    reason: 'PATH_NOT_FOUND',
    text: 'Not found',
  },
  {
    what: 'an unknown service, without a key',
    headers: { ':path': '/relayer.v9.Nothing/Get', authorization: undefined },
    code: Code.Unimplemented,
    status: 404,
    reason: 'PATH_NOT_FOUND',
    text: 'Not found',
  },
  {
    what: 'another verb',
    headers: { ':method': 'PUT' },
    code: Code.Unknown,
    status: 405,
    reason: 'METHOD_NOT_ALLOWED',
    text: 'Method Not Allowed',
    values: { allow: 'POST, GET' },
  },
  {
    what: 'a body announced over the limit',
    headers: { 'content-length': '1048582' },
    code: Code.ResourceExhausted,
    status: 429,
    reason: 'BODY_TOO_LARGE',
    text: 'Payload Too Large',
    values: { limit_bytes: '65536' },
  },
  {
    what: 'a malformed authority',
    headers: { ':authority': 'a:b' },
    code: Code.InvalidArgument,
    status: 400,
    reason: 'HOST_INVALID',
    text: 'Bad Request',
  },
];

for (const [name, protocol] of Object.entries(protocols)) {
  for (const { what, headers, code, status, reason, text, values = {} } of refusals) {
    test(`${name}: ${what} is answered in the caller's protocol`, async () => {
      const request = {
        ':method': 'POST',
        ':path': `${service}/GetNotification`,
        'content-type': protocol.contentType,
        authorization: key,
        ...headers,
      };
      const answer = await requestHttp2(origin, request, 'content-length' in headers ? tooLarge : undefined);
      const error = protocol.errorOf(answer);
      assert.ok(error);
      assert.equal(error.code, code);
      if (name === 'Connect unary') assert.equal(answer.headers[':status'], status);
      const [info] = error.findDetails(ErrorInfoSchema);
      assert.deepEqual(
        { reason: info?.reason, domain: info?.domain, metadata: info?.metadata },
        { reason, domain: 'relayer.v1', metadata: { message: text, ...values } },
      );
      assert.equal(error.findDetails(RequestInfoSchema)[0]?.requestId, answer.headers['x-request-id']);
      assert.equal(answer.headers['grpc-retry-pushback-ms'], '-1');
      assert.match(String(answer.headers['x-request-id']), /^request-\d+$/);
      assert.equal(answer.headers['www-authenticate'], status === 401 ? 'Bearer' : undefined);
      assert.equal(answer.headers.allow, status === 405 ? 'POST, GET' : undefined);
    });
  }
}

test('REST: errors are answered in the envelope', async () => {
  const cases = [
    [{}, 401, 'Unauthorized'],
    [{ authorization: `Bearer ${signingKey}` }, 403, 'Forbidden'],
    [{ ':path': '/api/v1/nothing' }, 404, 'Not found'],
    [{ ':path': '/' }, 404, 'Not found'],
    [{ ':method': 'PUT' }, 405, 'Method Not Allowed', 'POST, GET, HEAD'],
    [{ authorization: key, 'content-length': '1048577' }, 413, 'Payload Too Large'],
    [{ ':authority': 'a:b' }, 400, 'Bad Request'],
    [{ ':method': 'PUT', ':path': '/api/v1/health' }, 405, 'Method Not Allowed', 'GET, HEAD'],
  ] as const;
  for (const [headers, status, text, allow] of cases) {
    const answer = await requestHttp2(
      origin,
      { ':path': '/api/v1/notifications', ...headers },
      'content-length' in headers ? tooLarge : undefined,
    );
    assert.equal(answer.headers[':status'], status);
    assert.equal(JSON.parse(answer.body.toString()).message, text);
    assert.equal(answer.headers.allow, allow);
  }
});

for (const [name, transport] of Object.entries(transports)) {
  test(`${name}: a client reads code, reason and wrong fields of guards and of services`, async () => {
    const client = notificationClient(transport(origin));
    await assert.rejects(client.getNotification({}), (error) => {
      assert.ok(error instanceof ConnectError);
      assert.equal(error.code, Code.Unauthenticated);
      assert.equal(error.findDetails(ErrorInfoSchema)[0]?.reason, 'CREDENTIALS_INVALID');
      return true;
    });
    await assert.rejects(client.deleteNotification({}, { headers: { authorization: key } }), (error) => {
      assert.ok(error instanceof ConnectError);
      assert.equal(error.code, Code.InvalidArgument);
      assert.equal(error.rawMessage, 'notification_id must be another');
      assert.equal(error.findDetails(BadRequestSchema)[0]?.fieldViolations[0]?.field, 'notification_id');
      return true;
    });
    await assert.rejects(client.createNotification({ url: 'x'.repeat(1_100_000) }, { headers: { authorization: key } }), (error) => {
      assert.ok(error instanceof ConnectError);
      assert.equal(error.code, Code.ResourceExhausted);
      assert.equal(error.findDetails(ErrorInfoSchema)[0]?.reason, 'BODY_TOO_LARGE');
      return true;
    });
  });
}

test('body limit: an unannounced overrun is answered, and the connection stays open', async () => {
  const socket = await openSocket(rig.port);
  const answers = readAll(socket);
  const head = `POST ${service}/GetNotification HTTP/1.1\r\nHost: a\r\nAuthorization: ${key}\r\nContent-Type: application/json\r\n`;
  socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n`);
  const chunk = Buffer.alloc(65_536, 0x20);
  for (let sent = 0; sent < 20; sent++) socket.write(Buffer.concat([Buffer.from('10000\r\n'), chunk, Buffer.from('\r\n')]));
  socket.write('0\r\n\r\n');
  socket.write('GET /api/v1/health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  const text = await answers;
  assert.match(
    text,
    /^HTTP\/1\.1 429 Too Many Requests\r\n[\s\S]*"code":"resource_exhausted"[\s\S]*BODY_TOO_LARGE[\s\S]*HTTP\/1\.1 200 OK\r\n[\s\S]*OK$/,
  );
});

test('body limit: covers a compressed message', async () => {
  const answer = await requestHttp2(
    origin,
    {
      ':method': 'POST',
      ':path': `${service}/GetNotification`,
      'content-type': 'application/json',
      'content-encoding': 'gzip',
      authorization: key,
    },
    gzipSync(Buffer.alloc(50_000_000, 0x20)),
  );
  const error = errorFromJson(JSON.parse(answer.body.toString()), undefined, new ConnectError('not an error'));
  assert.equal(error.code, Code.ResourceExhausted);
  assert.equal(error.findDetails(ErrorInfoSchema)[0]?.reason, 'BODY_TOO_LARGE');
});

test('content type: one of no protocol answers 415', async () => {
  const answer = await requestHttp2(origin, {
    ':method': 'POST',
    ':path': `${service}/GetNotification`,
    'content-type': 'text/plain',
    authorization: key,
  });
  assert.equal(answer.headers[':status'], 415);
  assert.equal(answer.headers['x-error-reason'], 'CONTENT_TYPE_UNSUPPORTED');
  assert.equal(JSON.parse(answer.body.toString()).code, 'unknown');
});

test('authorization: requires exactly one header, with the scheme in any case', async () => {
  const send = (lines: string) => sendRaw(rig.port, `GET /api/v1/notifications HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${lines}\r\n`);
  assert.match(await send(`Authorization: ${key}\r\n`), /^HTTP\/1\.1 200 /);
  assert.match(await send(`AUTHORIZATION: bEaReR   ${testKey}\r\n`), /^HTTP\/1\.1 200 /);
  for (const lines of [
    `Authorization: ${key}\r\nAuthorization: ${key}\r\n`,
    `Authorization: ${key}\r\nauthorization: Bearer other\r\n`,
    `Authorization: ${testKey}\r\n`,
    `Authorization: Basic ${testKey}\r\n`,
    `Authorization: ${key} \tmore\r\n`,
    'Authorization: Bearer\r\n',
    'Authorization:\r\n',
    '',
  ]) {
    const answer = await send(lines);
    assert.match(answer, /^HTTP\/1\.1 401 Unauthorized\r\n/, lines);
    assert.match(answer, /\r\nwww-authenticate: Bearer\r\n/i);
    assert.ok(!answer.includes(testKey));
  }
});

test("request id: is the caller's if it sends one plain id", async () => {
  const idFor = async (lines: string) =>
    /\r\nx-request-id: (.*)\r\n/i.exec(
      await sendRaw(rig.port, `GET /api/v1/health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${lines}\r\n`),
    )?.[1];
  assert.equal(await idFor('X-Request-Id: My.own_id-1\r\n'), 'My.own_id-1');
  assert.equal(await idFor(`X-Request-Id: ${'a'.repeat(128)}\r\n`), 'a'.repeat(128));
  for (const lines of [
    `X-Request-Id: ${'a'.repeat(129)}\r\n`,
    'X-Request-Id: a b\r\n',
    'X-Request-Id: <script>\r\n',
    'X-Request-Id: a\r\nX-Request-Id: b\r\n',
    '',
  ]) {
    assert.match((await idFor(lines)) ?? '', /^request-\d+$/, lines);
  }
  const answer = await requestHttp2(
    origin,
    {
      ':method': 'POST',
      ':path': `${service}/GetNotification`,
      'content-type': 'application/json',
      authorization: key,
      'x-request-id': 'mine',
    },
    Buffer.from('{"notificationId":"n"}'),
  );
  assert.equal(answer.headers['x-request-id'], 'mine');
  assert.deepEqual(JSON.parse(answer.body.toString()), { notification: { id: 'n' } });
});

test('CORS: listed origins are allowed, others get no headers', async () => {
  const ask = (method: string, asked: string | undefined) =>
    requestHttp2(origin, { ':method': method, ':path': '/api/v1/notifications', ...(asked === undefined ? {} : { origin: asked }) });
  const preflight = (await ask('OPTIONS', 'https://app.example.org')).headers;
  assert.equal(preflight[':status'], 204);
  assert.equal(preflight['access-control-allow-origin'], 'https://app.example.org');
  assert.match(String(preflight['access-control-allow-methods']), /PATCH/);
  assert.match(String(preflight['access-control-allow-headers']), /Connect-Protocol-Version.*X-Grpc-Web.*Authorization.*Idempotency-Key/);
  const refused = (await ask('GET', 'https://app.example.org')).headers;
  assert.equal(refused[':status'], 401);
  assert.equal(refused['access-control-allow-origin'], 'https://app.example.org');
  assert.match(String(refused['access-control-expose-headers']), /Grpc-Status.*X-Request-Id, X-Error-Reason/);
  for (const other of ['https://evil.example.org', 'https://app.example.org.evil', 'null', undefined]) {
    const answer = (await ask('OPTIONS', other)).headers;
    assert.equal(answer[':status'], 204);
    assert.deepEqual(
      Object.keys(answer).filter((name) => name.startsWith('access-control')),
      [],
    );
    assert.equal(answer.vary, 'Origin');
  }
});

test('targets: accept the absolute form, a trailing slash, HEAD and a query', async () => {
  const send = (line: string) => sendRaw(rig.port, `${line} HTTP/1.1\r\nHost: a\r\nAuthorization: ${key}\r\nConnection: close\r\n\r\n`);
  assert.match(await send('GET http://elsewhere.example/api/v1/health'), /\r\n\r\nOK$/);
  assert.match(await send('GET /api/v1/health/?x=1'), /\r\n\r\nOK$/);
  assert.match(await send('HEAD /api/v1/health'), /^HTTP\/1\.1 200 OK\r\n[\s\S]*content-length: 2\r\n[\s\S]*\r\n\r\n$/i);
  assert.match(await send('GET /api/v1/notifications?page=2'), /"id":"of page 2"/);
  assert.match(await send('GET /api/v1/notifications/?page=2'), /"id":"of page 2"/);
  assert.equal((await requestHttp2(origin, { ':method': 'HEAD', ':path': '/api/v1/health' })).body.length, 0);
  assert.equal((await requestHttp2(origin, { ':method': 'HEAD', ':path': '/nothing' })).headers[':status'], 404);
});

test('request log: has one line per request, without query, headers or keys', async () => {
  const answer = await requestHttp2(origin, { ':path': '/api/v1/notifications?page=77777', authorization: key, 'x-request-id': 'logged' });
  assert.equal(answer.headers[':status'], 200);
  const lines = rig.lines.filter(({ fields }) => fields.requestId === 'logged');
  assert.equal(lines.length, 1);
  const { ms, ...fields } = lines[0]?.fields ?? {};
  assert.equal(typeof ms, 'number');
  assert.deepEqual(fields, {
    method: 'GET',
    path: '/api/v1/notifications',
    status: 200,
    requestId: 'logged',
    keyId: 'bootstrap',
    reason: null,
    traceId: null,
  });
  const everything = JSON.stringify(rig.lines);
  assert.ok(!everything.includes(testKey) && !everything.includes('77777'));
});

test('request log: states why a call failed, in every layer and protocol', async () => {
  const body = Buffer.from('{"notificationId":"a"}');
  const path = `${service}/DeleteNotification`;
  const failed = { authorization: key, 'x-request-id': 'failed' };
  await requestHttp2(origin, { ':method': 'DELETE', ':path': '/api/v1/notifications/a', ...failed });
  await requestHttp2(origin, { ':method': 'POST', ':path': path, 'content-type': 'application/json', ...failed }, body);
  await requestHttp2(origin, { ':method': 'POST', ':path': path, 'content-type': 'application/grpc-web+json', ...failed }, envelope(body));
  const lines = rig.lines.filter(({ fields }) => fields.requestId === 'failed');
  assert.deepEqual(
    lines.map(({ fields }) => [fields.status, fields.reason]),
    [
      [400, 'FIELD_INVALID'],
      [400, 'FIELD_INVALID'],
      [200, 'FIELD_INVALID'],
    ],
  );
});

test("request log: holds the caller's trace if it is well-formed", async () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const traceIds = async (traceparent: string) => {
    const requestId = `traced-${rig.lines.length}`;
    await requestHttp2(origin, { ':path': '/api/v1/notifications', authorization: key, 'x-request-id': requestId, traceparent });
    return rig.lines.filter(({ fields }) => fields.requestId === requestId).map(({ fields }) => fields.traceId);
  };
  assert.deepEqual(await traceIds(`00-${traceId}-b7ad6b7169203331-01`), [traceId]);
  for (const malformed of ['', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`, `ff-${traceId}-b7ad6b7169203331-01`, `00-${traceId}`, 'secret'])
    assert.deepEqual(await traceIds(malformed), [null], malformed);
});

test('errors: text without a UTF-8 form does not break an answer', () => {
  const error = connectErrorFromDomainError(
    new DomainError('not_found', 'RELAYER_NOT_FOUND', 'id \ud83d cut', { metadata: { relayer_id: '\ud83d' } }),
    null,
  );
  assert.equal(error.rawMessage, 'id \ufffd cut');
  assert.doesNotThrow(() => encodeURIComponent(error.rawMessage));
});
