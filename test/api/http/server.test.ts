import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { get as getTls } from 'node:https';
import { test } from 'node:test';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { Code, ConnectError } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node';
import { createServer } from '../../../src/api/http/server.js';
import { notificationClient, patientTimeouts, type RigOptions, startRig, testKey, transports } from '../../support/api-rig.js';
import { deferred } from '../../support/deferred.js';
import { openSocket, readAll, requestHttp2, sendRaw } from '../../support/raw-http.js';
import { selfSigned } from '../../support/self-signed.js';
import { waitFor } from '../../support/wait-for.js';

const authorized = { headers: { authorization: `Bearer ${testKey}` } };
const getNotification: RigOptions['notifications'] = {
  getNotification: ({ notificationId }) => ({ notification: { id: notificationId } }),
};

/** Reports that a call has begun, and never answers it. */
function hungAfter(started: { resolve(): void }): NonNullable<RigOptions['notifications']> {
  return {
    getNotification() {
      started.resolve();
      return new Promise(() => undefined);
    },
  };
}

test('server: answers HTTP/1.1 and HTTP/2 on one port', async () => {
  const rig = await startRig();
  const first = await sendRaw(rig.port, 'GET /api/v1/health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  assert.match(first, /^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nOK$/);
  const second = await requestHttp2(`http://127.0.0.1:${rig.port}`, { ':path': '/api/v1/health' });
  assert.equal(second.headers[':status'], 200);
  assert.equal(second.body.toString(), 'OK');
  await rig.stop();
});

test('server: understands a request that arrives byte by byte', async () => {
  const rig = await startRig();
  const socket = await openSocket(rig.port);
  socket.setNoDelay(true);
  const answer = readAll(socket);
  for (const byte of 'GET /api/v1/health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n') {
    await new Promise((resolve) => socket.write(byte, resolve));
  }
  assert.match(await answer, /^HTTP\/1\.1 200 OK\r\n/);
  await rig.stop();
});

for (const [name, transport] of Object.entries(transports)) {
  test(`${name}: calls succeed with a body of several segments`, async () => {
    const rig = await startRig({ notifications: getNotification });
    const client = notificationClient(transport(`http://127.0.0.1:${rig.port}`));
    const id = 'x'.repeat(60_000);
    const { notification } = await client.getNotification({ notificationId: id }, authorized);
    assert.equal(notification?.id, id);
    await rig.stop();
  });
}

test('TLS: ALPN chooses between HTTP/1.1 and HTTP/2', async () => {
  const tls = await selfSigned();
  const rig = await startRig({ tls, notifications: getNotification });
  const origin = `https://127.0.0.1:${rig.port}`;
  const [response] = await once(getTls(`${origin}/api/v1/health`, { ca: tls.certPem, agent: false }), 'response');
  response.resume();
  assert.equal(response.statusCode, 200);
  assert.equal(response.httpVersion, '1.1');
  const overHttp2 = await requestHttp2(origin, { ':path': '/api/v1/health' }, undefined, { ca: tls.certPem });
  assert.equal(overHttp2.headers[':status'], 200);
  const client = notificationClient(createGrpcTransport({ baseUrl: origin, nodeOptions: { ca: tls.certPem } }));
  const { notification } = await client.getNotification({ notificationId: 'n' }, authorized);
  assert.equal(notification?.id, 'n');
  // Cleartext on a TLS port.
  await sendRaw(rig.port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await rig.stop();
});

test('TLS: takes 1.3, and of 1.2 only ECDHE with authenticated encryption, also after a renewal', async () => {
  const tls = await selfSigned();
  const rig = await startRig({ tls });
  const agreed = async (options: ConnectionOptions) => {
    const socket = connectTls({ host: '127.0.0.1', port: rig.port, ca: tls.certPem, ...options });
    const outcome = await Promise.race([once(socket, 'secureConnect').then(() => true), once(socket, 'close').then(() => false)]).catch(
      () => false,
    );
    const agreed = outcome ? `${socket.getProtocol()} ${socket.getCipher().name}` : 'refused';
    socket.destroy();
    return agreed;
  };
  const only12 = { maxVersion: 'TLSv1.2' } as const;
  for (let renewals = 0; renewals < 2; renewals += 1) {
    assert.match(await agreed({}), /^TLSv1\.3 TLS_AES_/);
    for (const cipher of ['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'CHACHA20-POLY1305'])
      assert.equal(await agreed({ ...only12, ciphers: `ECDHE-ECDSA-${cipher}` }), `TLSv1.2 ECDHE-ECDSA-${cipher}`);
    for (const cipher of ['ECDHE-ECDSA-AES128-SHA256', 'ECDHE-ECDSA-AES256-SHA', 'ECDHE-ECDSA-AES128-CCM'])
      assert.equal(await agreed({ ...only12, ciphers: cipher }), 'refused', cipher);
    assert.equal(await agreed({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' }), 'refused');
    rig.server.useCertificate(tls);
  }
  await rig.stop();
});

test('TLS: cuts off a handshake that does not end', async () => {
  const rig = await startRig({ tls: await selfSigned(), timeouts: { ...patientTimeouts, firstByteMs: 50 } });
  const silent = await openSocket(rig.port);
  const begun = await openSocket(rig.port);
  begun.write(Buffer.from('16030100c8010000c40303', 'hex'));
  assert.deepEqual(await Promise.all([readAll(silent), readAll(begun)]), ['', '']);
  await rig.stop();
});

test('TLS: stopping cuts off calls that do not end', async () => {
  const tls = await selfSigned();
  for (const httpVersion of ['1.1', '2'] as const) {
    const started = deferred();
    const rig = await startRig({ tls, shutdownDeadlineMs: 50, notifications: hungAfter(started) });
    const silent = await openSocket(rig.port);
    const nodeOptions = { ca: tls.certPem };
    const transport = createConnectTransport({ baseUrl: `https://127.0.0.1:${rig.port}`, httpVersion, nodeOptions });
    const failure = assert.rejects(notificationClient(transport).getNotification({ notificationId: 'n' }, authorized), ConnectError);
    await started.promise;
    const hungUp = readAll(silent);
    await rig.stop();
    await failure;
    await hungUp;
  }
});

test('server: answers malformed HTTP with the envelope and closes the connection', async () => {
  const rig = await startRig();
  const cases = [
    ['GARBAGE\r\n\r\n', 400],
    ['GET /api/v1/health HTTP/1.1\r\nHost: a\r\nBad Header: x\r\n\r\n', 400],
    [`GET /api/v1/health HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`, 431],
    ['POST /api/v1/health HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n', 400],
  ] as const;
  for (const [text, status] of cases) {
    const answer = await sendRaw(rig.port, text);
    assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `));
    assert.match(answer, /x-request-id: request-\d+\r\n/);
    const envelope = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')));
    assert.equal(envelope.success, false);
    assert.equal(envelope.data, null);
    assert.equal(envelope.message, status === 431 ? 'Request Header Fields Too Large' : 'Bad Request');
  }
  await rig.stop();
});

test('server: closes a connection that sends nothing', async () => {
  const rig = await startRig({ timeouts: { ...patientTimeouts, firstByteMs: 50 } });
  const silent = await openSocket(rig.port);
  assert.equal(await readAll(silent), '');
  const two = await openSocket(rig.port);
  two.write('GE');
  assert.equal(await readAll(two), '');
  await rig.stop();
});

test('server: reads what has arrived before it closes a silent connection after a stall', async (t) => {
  const timersPhase = setTimeout;
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const rig = await startRig({ timeouts: { ...patientTimeouts, firstByteMs: 50 } });
  const slow = await openSocket(rig.port);
  const answer = readAll(slow);
  // The service accepts connections in order.
  await sendRaw(rig.port, 'GET /api/v1/health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  timersPhase(() => {
    slow.write('GET /api/v1/health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    t.mock.timers.tick(50);
  });
  assert.match(await answer, /^HTTP\/1\.1 200 OK\r\n/);
  await rig.stop();
});

test('server: answers late headers and bodies with 408', async () => {
  const rig = await startRig({ timeouts: { ...patientTimeouts, headersMs: 50, requestMs: 100, checkEveryMs: 20 } });
  assert.match(await sendRaw(rig.port, 'GET /api/v1/health HTTP/1.1\r\nHost: a\r\n'), /^HTTP\/1\.1 408 Request Timeout\r\n/);
  const path = '/relayer.v1.NotificationService/GetNotification';
  const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${testKey}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`;
  assert.match(await sendRaw(rig.port, head), /^HTTP\/1\.1 408 Request Timeout\r\n/);
  await rig.stop();
});

test('server: survives hostile hosts, verbs and resets', async () => {
  const rig = await startRig({ notifications: getNotification });
  const path = '/relayer.v1.NotificationService/GetNotification';
  const heads = [
    `POST ${path} HTTP/1.0\r\n`,
    `POST ${path} HTTP/1.1\r\n`,
    `POST ${path} HTTP/1.1\r\nHost:\r\n`,
    `POST ${path} HTTP/1.1\r\nHost: [\r\n`,
    `POST ${path} HTTP/1.1\r\nHost: a:99999\r\n`,
    `POST ${path} HTTP/1.1\r\nHost: a/b\r\n`,
    `POST ${path} HTTP/1.1\r\nHost: u@a\r\n`,
    `POST ${path} HTTP/1.1\r\nHost: a\r\nHost: b\r\n`,
  ];
  for (const head of heads) {
    const answer = await sendRaw(rig.port, `${head}Content-Type: application/json\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}`);
    assert.match(answer, /^HTTP\/1\.1 400 Bad Request\r\n/, head);
    assert.match(answer, /"code":"invalid_argument","message":"[^"]*Host header/, head);
  }
  // Hosts that no URL can have, but that are well-formed headers: the service accepts them.
  for (const host of ['1.2.3.4.5', '999.999.999.999', 'a..b', '[::1]:80', 'xn--']) {
    const answer = await sendRaw(
      rig.port,
      `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${testKey}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}`,
    );
    assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/, host);
  }
  for (const text of [
    'CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET http://[/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    'GET /%zz/%00?%zz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    'OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
    'GET /api/v1/health HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nConnection: Upgrade, close\r\n\r\n',
    'GET /api/v1/health HTTP/1.1\r\nHost: a\r\n__proto__: x\r\nExpect: nothing\r\nConnection: close\r\n\r\n',
  ]) {
    await sendRaw(rig.port, text);
  }
  const origin = `http://127.0.0.1:${rig.port}`;
  const authorities = ['[', 'a:b', 'a b', ''];
  for (const authority of authorities) {
    const answer = await requestHttp2(origin, {
      ':path': path,
      ':method': 'POST',
      ':authority': authority,
      'content-type': 'application/grpc',
    }).catch((error: Error) => error);
    // Node's own HTTP/2 refuses some of them before the handler runs.
    if (!(answer instanceof Error)) assert.notEqual(answer.headers['grpc-status'], '0', authority);
  }
  const torn = await openSocket(rig.port);
  torn.write(
    `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${testKey}\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{`,
  );
  await waitFor('the request to be seen', () => (rig.lines.length > 0 ? true : undefined));
  torn.resetAndDestroy();
  const session = connectHttp2(origin);
  const stream = session.request({
    ':path': path,
    ':method': 'POST',
    'content-type': 'application/grpc',
    authorization: `Bearer ${testKey}`,
  });
  stream.on('error', () => undefined);
  session.on('error', () => undefined);
  stream.write(Buffer.from([0, 0, 0]));
  await once(session, 'remoteSettings');
  session.destroy(undefined, 8);
  assert.match(await sendRaw(rig.port, 'GET /api/v1/health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'), /^HTTP\/1\.1 200 /);
  assert.deepEqual(
    rig.lines.filter(({ level }) => level === 'error'),
    [],
  );
  await rig.stop();
});

test('HTTP/2: a GOAWAY with calls behind it does no damage', async () => {
  const rig = await startRig();
  const goaway = Buffer.from('000008070000000000' + '0000000000000000', 'hex');
  // GET http /api/v1/health, from the static table and two literals.
  const block = Buffer.concat([
    Buffer.from([0x82, 0x86, 0x01, 1]),
    Buffer.from('a'),
    Buffer.from([0x04, 14]),
    Buffer.from('/api/v1/health'),
  ]);
  const calls = Array.from({ length: 20 }, (_, index) => Buffer.from([0, 0, block.length, 1, 5, 0, 0, 0, index * 2 + 1, ...block]));
  const bytes = Buffer.concat([
    Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    Buffer.from('000000040000000000', 'hex'),
    goaway,
    ...calls,
  ]);
  // What Node would free while it reads it shows only when it was used again.
  for (let round = 0; round < 200; round += 1) {
    const socket = await openSocket(rig.port);
    socket.on('error', () => undefined).resume();
    socket.write(bytes);
    await once(socket, 'close');
  }
  const answer = await requestHttp2(`http://127.0.0.1:${rig.port}`, { ':path': '/api/v1/health' });
  assert.equal(answer.headers[':status'], 200);
  await rig.stop();
});

test('HTTP/2: destroys a session that ended by an error', async () => {
  const rig = await startRig({ timeouts: { ...patientTimeouts, quietSessionMs: 50 } });
  const socket = await openSocket(rig.port);
  const received = readAll(socket);
  // DATA on no stream.
  socket.write(
    Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), Buffer.from('000000040000000000' + '00000100000000000078', 'hex')]),
  );
  assert.match(await received, /DATA: stream_id == 0/);
  const living = connectHttp2(`http://127.0.0.1:${rig.port}`);
  // One that answers is kept.
  await once(living, 'ping');
  await once(living, 'ping');
  assert.equal(living.closed, false);
  living.close();
  await rig.stop();
});

test('HTTP/2: cuts off a late body and an unread answer', async () => {
  const rig = await startRig({ timeouts: { ...patientTimeouts, headersMs: 100, requestMs: 100 }, notifications: getNotification });
  const path = '/relayer.v1.NotificationService/GetNotification';
  const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/json', authorization: `Bearer ${testKey}` };
  const session = connectHttp2(`http://127.0.0.1:${rig.port}`);
  const slow = session.request(headers);
  slow.write('{');
  await once(slow, 'close');
  assert.equal(slow.rstCode, 8);
  session.close();
  const shut = connectHttp2(`http://127.0.0.1:${rig.port}`, { settings: { initialWindowSize: 0 } });
  const unread = shut.request(headers);
  unread.end(JSON.stringify({ notificationId: 'x'.repeat(1000) }));
  await once(unread, 'close');
  assert.equal(unread.rstCode, 8);
  shut.close();
  await rig.stop();
});

test('HTTP/1: cuts off an unread answer', async () => {
  const rig = await startRig({ timeouts: { ...patientTimeouts, headersMs: 200, requestMs: 200 }, notifications: getNotification });
  const body = JSON.stringify({ notificationId: 'x'.repeat(60_000) });
  const head = `POST /relayer.v1.NotificationService/GetNotification HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${testKey}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  const socket = await openSocket(rig.port);
  socket.on('error', () => undefined).pause();
  // More than what the system holds for a reader.
  socket.write(`${head}${body}`.repeat(500));
  await new Promise((resolve) => socket.once('close', resolve));
  await rig.stop();
});

test('HTTP/1: closes a connection that was used once and then stays quiet', async () => {
  const rig = await startRig({ timeouts: { ...patientTimeouts, keepAliveMs: 100 } });
  const socket = await openSocket(rig.port);
  const answer = once(socket, 'data');
  socket.write('GET /health HTTP/1.1\r\nHost: a\r\n\r\n');
  assert.match(String((await answer)[0]), /^HTTP\/1\.1 \d{3} /);
  await new Promise((resolve) => socket.once('close', resolve));
  await rig.stop();
});

test('RPC JSON: rejects text that is not UTF-8', async () => {
  const rig = await startRig({ notifications: getNotification });
  const head = `POST /relayer.v1.NotificationService/GetNotification HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${testKey}\r\nContent-Type: application/json\r\nContent-Length: 24\r\nConnection: close\r\n\r\n`;
  assert.match(await sendRaw(rig.port, `${head}{"notificationId":"\xff\xfea"}`.slice(0, head.length + 24)), /^HTTP\/1\.1 400 /);
  await rig.stop();
});

test('stop: closes idle connections at once and lets running calls end', async () => {
  for (const [name, transport] of Object.entries(transports)) {
    const started = deferred();
    const release = deferred();
    const rig = await startRig({
      notifications: {
        async getNotification({ notificationId }) {
          started.resolve();
          await release.promise;
          return { notification: { id: notificationId } };
        },
      },
    });
    const idle = await openSocket(rig.port);
    const kept = await openSocket(rig.port);
    kept.write('GET /api/v1/health HTTP/1.1\r\nHost: a\r\n\r\n');
    await once(kept, 'readable');
    const idleSession = connectHttp2(`http://127.0.0.1:${rig.port}`);
    await once(idleSession, 'remoteSettings');
    const call = notificationClient(transport(`http://127.0.0.1:${rig.port}`)).getNotification({ notificationId: 'n' }, authorized);
    await started.promise;
    const gone = Promise.all([readAll(idle), readAll(kept), once(idleSession, 'close')]);
    const stopped = rig.stop();
    await gone;
    await assert.rejects(openSocket(rig.port), { code: 'ECONNREFUSED' });
    release.resolve();
    assert.equal((await call).notification?.id, 'n', name);
    await stopped;
    assert.deepEqual(
      rig.lines.filter(({ level }) => level === 'warn'),
      [],
      name,
    );
  }
});

test('stop: cuts off calls at the deadline', async () => {
  for (const [name, transport] of Object.entries(transports)) {
    const started = deferred();
    const rig = await startRig({
      shutdownDeadlineMs: 50,
      notifications: hungAfter(started),
    });
    const call = notificationClient(transport(`http://127.0.0.1:${rig.port}`)).getNotification({ notificationId: 'n' }, authorized);
    const failure = assert.rejects(call, (error) => error instanceof ConnectError && error.code !== Code.DeadlineExceeded, name);
    await started.promise;
    await rig.stop();
    await failure;
    assert.equal(rig.lines.filter(({ level }) => level === 'warn').length, 1, name);
  }
});

test('listen: rejects if the address is taken', async () => {
  const rig = await startRig();
  await assert.rejects(startRig({ port: rig.port }), { code: 'EADDRINUSE' });
  await rig.stop();
});

test('server: a throwing handler costs only its own request', async () => {
  const errors: string[] = [];
  const ignore = () => undefined;
  const server = createServer({
    host: '127.0.0.1',
    port: 0,
    tls: null,
    handler(request, response) {
      if (request.url === '/throw') throw new Error('a bug');
      response.end('fine');
    },
    newRequestId: () => 'id',
    log: { debug: ignore, info: ignore, warn: ignore, error: (_fields, message) => errors.push(message) },
    shutdownDeadlineMs: 30_000,
  });
  const { port } = await server.listen();
  assert.equal(await sendRaw(port, 'GET /throw HTTP/1.1\r\nHost: a\r\n\r\n'), '');
  await assert.rejects(requestHttp2(`http://127.0.0.1:${port}`, { ':path': '/throw' }));
  assert.match(await sendRaw(port, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'), /fine$/);
  assert.equal(errors.length, 2);
  await server.stop();
});
