import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { create, toBinary } from '@bufbuild/protobuf';
import { GetNotificationRequestSchema } from '../../../gen/relayer/v1/notification_service_pb.js';
import { flag, frame, framesIn, headerBlock, headersFrame, preface, settings, type, uint32 } from '../../hostile/http2-frames.js';
import { envelope } from '../../hostile/valid-requests.js';
import { type Rig, startRig, testKey } from '../../support/api-rig.js';
import { deferred } from '../../support/deferred.js';
import { openSocket } from '../../support/raw-http.js';
import { selfSigned } from '../../support/self-signed.js';
import { waitFor } from '../../support/wait-for.js';

const hanging = deferred();
let begun = 0;
let rig: Rig;
before(async () => {
  const getNotification = async () => {
    begun += 1;
    await hanging.promise;
    return {};
  };
  rig = await startRig({ notifications: { getNotification } });
});
after(() => rig.stop());

const requests = () => rig.lines.filter(({ message }) => message === 'request');

function headersOf(verb: string, path: string, contentType?: string): [string, string][] {
  return [
    [':method', verb],
    [':scheme', 'http'],
    [':authority', 'a'],
    [':path', path],
    ['authorization', `Bearer ${testKey}`],
    ...(contentType === undefined ? [] : [['content-type', contentType] as [string, string]]),
  ];
}

const method = '/relayer.v1.NotificationService/GetNotification';
const withoutKey = headersOf('POST', method, 'application/grpc').filter(([name]) => name !== 'authorization');
const call = headerBlock(withoutKey);
const health = headerBlock(headersOf('GET', '/api/v1/health'));
const message = toBinary(GetNotificationRequestSchema, create(GetNotificationRequestSchema, { notificationId: 'n' }));
/** Every code of HTTP/2, one that it does not know, and the greatest. */
const codes = [...Array.from({ length: 14 }, (_, code) => code), 0x77, 0xffffffff];

/** The frames of a call on a stream. */
const calls: Readonly<Record<string, (id: number) => Buffer>> = {
  'calls without a key': (id) => headersFrame(id, call, false),
  'calls with a key': (id) => headersFrame(id, headerBlock(headersOf('POST', method, 'application/grpc')), false),
  'complete requests': (id) => headersFrame(id, headerBlock(headersOf('GET', '/api/v1/notifications/n')), true),
  'requests for health': (id) => headersFrame(id, health, true),
  'streams that watch the health': (id) =>
    headersFrame(id, headerBlock(headersOf('POST', '/grpc.health.v1.Health/Watch', 'application/grpc')), false),
  'requests for an unknown path': (id) => headersFrame(id, headerBlock(headersOf('GET', '/none')), true),
  'preflight requests, whose answers have no body': (id) =>
    headersFrame(id, headerBlock(headersOf('OPTIONS', '/api/v1/notifications')), true),
  'requests that announce a large body': (id) =>
    headersFrame(id, headerBlock([...headersOf('POST', '/api/v1/notifications'), ['content-length', '1000000']]), false),
  'calls with a part of their body': (id) => Buffer.concat([headersFrame(id, call, false), frame(type.data, 0, id, Buffer.alloc(100))]),
  'calls whose headers are two frames': (id) =>
    Buffer.concat([frame(type.headers, 0, id, call.subarray(0, 20)), frame(type.continuation, flag.endHeaders, id, call.subarray(20))]),
};

/** Calls that are opened and reset at once, from this stream id on. */
function resets(count: number, { firstId = 1, code = 8, of = (id: number) => headersFrame(id, call, false) } = {}): Buffer {
  const ids = Array.from({ length: count }, (_, index) => firstId + index * 2);
  return Buffer.concat(ids.flatMap((id) => [of(id), frame(type.reset, 0, id, uint32(code))]));
}

/** Sends the bytes on a new connection; resolves when the service has closed it, with the number of calls that it handled. */
async function handledOf(bytes: Buffer): Promise<number> {
  const before = requests().length;
  const socket = await openSocket(rig.port);
  socket.on('error', () => undefined);
  const closed = once(socket, 'close', { signal: AbortSignal.timeout(10_000) });
  try {
    socket.resume().write(Buffer.concat([preface, settings(), bytes]));
    await closed;
  } finally {
    socket.destroy();
  }
  return requests().length - before;
}

for (const code of codes) {
  test(`rapid reset, code ${code}: a session that resets its calls is destroyed after some tens, and the rest is not handled`, async () => {
    const handled = await handledOf(resets(900, { code }));
    assert.ok(handled <= 60, `${handled} calls were handled`);
  });
}

for (const [name, of] of Object.entries(calls)) {
  test(`rapid reset: ${name} that are reset at once end the session after some tens, with an error code or without`, async () => {
    for (const code of [0, 8]) {
      const handled = await handledOf(resets(900, { code, of }));
      assert.ok(handled <= 60, `code ${code}: ${handled} calls were handled`);
    }
  });
}

test('a call whose body is empty and ends in the same packet as its headers is answered', async () => {
  const socket = await openSocket(rig.port);
  let received = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
  });
  const begunBefore = begun;
  const open = headersFrame(1, headerBlock(headersOf('POST', method, 'application/proto')), false);
  socket.write(Buffer.concat([preface, settings(), open, frame(type.data, flag.endStream, 1)]));
  await waitFor(
    'the call to be handled',
    () => begun > begunBefore || framesIn(received).some(({ kind }) => kind === type.headers) || undefined,
    10_000,
  );
  socket.destroy();
});

test('reset: a call that waits ends at once, whatever the code', async () => {
  for (const code of codes) {
    const socket = await openSocket(rig.port);
    const [begunBefore, endedBefore] = [begun, requests().length];
    const open = headersFrame(1, headerBlock(headersOf('POST', method, 'application/grpc')), false);
    socket.write(Buffer.concat([preface, settings(), open, frame(type.data, flag.endStream, 1, envelope(message))]));
    await waitFor('the call to begin', () => begun > begunBefore || undefined);
    socket.write(frame(type.reset, 0, 1, uint32(code)));
    await waitFor(`the call to end after code ${code}`, () => requests().length > endedBefore || undefined, 10_000);
    assert.equal(requests().at(-1)?.fields.status, 499);
    socket.destroy();
  }
});

const unread: Readonly<Record<string, Buffer>> = {
  'a complete request': headersFrame(1, health, true),
  'a refused call': headersFrame(1, call, false),
  'a body that is too large, and its first part': Buffer.concat([
    headersFrame(1, headerBlock([...headersOf('POST', '/api/v1/notifications'), ['content-length', '9000000']]), false),
    frame(type.data, 0, 1, Buffer.alloc(16_000)),
  ]),
};
for (const [name, bytes] of Object.entries(unread)) {
  test(`reset: ${name} whose answer its caller does not take is freed at once, whatever the code`, async () => {
    for (const code of codes) {
      const socket = await openSocket(rig.port);
      const endedBefore = requests().length;
      let received = Buffer.alloc(0);
      socket.on('data', (chunk: Buffer) => {
        received = Buffer.concat([received, chunk]);
      });
      // No byte of a body fits into a window of 0.
      socket.write(Buffer.concat([preface, settings([4, 0]), bytes]));
      await waitFor('the headers of the answer', () => framesIn(received).find(({ kind }) => kind === type.headers));
      assert.equal(requests().length, endedBefore);
      socket.write(frame(type.reset, 0, 1, uint32(code)));
      await waitFor(`the request to end after code ${code}`, () => requests().length > endedBefore || undefined, 5_000);
      socket.destroy();
    }
  });
}

test('reset: a call whose body its caller broke off has no effect, whatever the code', async () => {
  const begunBefore = begun;
  for (const code of codes) {
    const socket = await openSocket(rig.port);
    const endedBefore = requests().length;
    const open = headersFrame(1, headerBlock(headersOf('POST', method, 'application/proto')), false);
    let received = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
    });
    socket.write(Buffer.concat([preface, settings(), open, frame(type.data, 0, 1, message), frame(type.ping, 0, 0, Buffer.alloc(8))]));
    await waitFor('the body to be read', () => framesIn(received).find(({ kind }) => kind === type.ping));
    socket.write(frame(type.reset, 0, 1, uint32(code)));
    await waitFor(`the request to end after code ${code}`, () => requests().length > endedBefore || undefined, 10_000);
    assert.equal(begun, begunBefore, `a call that was broken off with code ${code} ran`);
    socket.destroy();
  }
});

for (const code of [0, 8]) {
  for (const isEncrypted of [false, true])
    test(`rapid reset, code ${code}${isEncrypted ? ', TLS' : ''}: a caller that cancels calls between completed ones keeps its session`, async (t) => {
      const served = isEncrypted ? await startRig({ tls: await selfSigned() }) : null;
      if (served !== null) t.after(() => served.stop());
      const socket = served === null ? await openSocket(rig.port) : await openTls(served.port);
      let received = Buffer.alloc(0);
      socket.on('data', (chunk: Buffer) => {
        received = Buffer.concat([received, chunk]);
      });
      socket.write(Buffer.concat([preface, settings()]));
      for (let round = 0; round < 4; round += 1) {
        const id = round * 100 + 81;
        socket.write(Buffer.concat([resets(40, { firstId: round * 100 + 1, code }), headersFrame(id, health, true)]));
        await waitFor('the completed call', () => framesIn(received).find(({ kind, stream }) => kind === type.data && stream === id));
      }
      assert.equal(socket.destroyed, false);
      socket.destroy();
    });
}

/** A TLS connection to the loopback address that speaks HTTP/2. */
async function openTls(port: number): Promise<TLSSocket> {
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'] });
  await once(socket, 'secureConnect');
  return socket;
}

test('rapid reset: a caller that resets calls after their answers keeps its session', async () => {
  const socket = await openSocket(rig.port);
  let received = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
  });
  const ids = Array.from({ length: 100 }, (_, index) => index * 2 + 1);
  socket.write(Buffer.concat([preface, settings(), ...ids.map((id) => headersFrame(id, call, false))]));
  await waitFor('all answers', () => framesIn(received).filter(({ kind }) => kind === type.headers).length === ids.length || undefined);
  socket.write(Buffer.concat([...ids.map((id) => frame(type.reset, 0, id, uint32(8))), headersFrame(301, health, true)]));
  await waitFor('the next call', () => framesIn(received).find(({ kind, stream }) => kind === type.data && stream === 301));
  assert.equal(socket.destroyed, false);
  socket.destroy();
});
