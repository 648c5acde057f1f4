import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { frame, framesIn, headerBlock, headersFrame, preface, settings, type, uint32 } from '../../hostile/http2-frames.js';
import { type Rig, startRig } from '../../support/api-rig.js';
import { openSocket } from '../../support/raw-http.js';
import { waitFor } from '../../support/wait-for.js';

let rig: Rig;
before(async () => {
  rig = await startRig();
});
after(() => rig.stop());

const handled = () => rig.lines.filter(({ message }) => message === 'request').length;

const call = headerBlock([
  [':method', 'POST'],
  [':scheme', 'http'],
  [':authority', 'a'],
  [':path', '/relayer.v1.NotificationService/GetNotification'],
  ['content-type', 'application/grpc'],
]);
const health = headerBlock([
  [':method', 'GET'],
  [':scheme', 'http'],
  [':authority', 'a'],
  [':path', '/api/v1/health'],
]);

/** Calls that are opened and reset at once, from this stream id on. */
function resets(count: number, firstId = 1): Buffer {
  const ids = Array.from({ length: count }, (_, index) => firstId + index * 2);
  return Buffer.concat(ids.flatMap((id) => [headersFrame(id, call, false), frame(type.reset, 0, id, uint32(8))]));
}

test('rapid reset: a session that resets its calls is destroyed after some tens, and the rest is not handled', async () => {
  const socket = await openSocket(rig.port);
  socket.on('error', () => undefined);
  const closed = once(socket, 'close');
  socket.resume().write(Buffer.concat([preface, settings(), resets(900)]));
  await closed;
  assert.ok(handled() <= 60, `${handled()} calls were handled`);
});

test('rapid reset: a caller that cancels calls between completed ones keeps its session', async () => {
  const socket = await openSocket(rig.port);
  let received = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
  });
  socket.write(Buffer.concat([preface, settings()]));
  for (let round = 0; round < 4; round += 1) {
    const id = round * 100 + 81;
    socket.write(Buffer.concat([resets(40, round * 100 + 1), headersFrame(id, health, true)]));
    await waitFor('the completed call', () => framesIn(received).find(({ kind, stream }) => kind === type.data && stream === id));
  }
  assert.equal(socket.destroyed, false);
  socket.destroy();
});

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
