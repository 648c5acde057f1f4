import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { createConnectionLimit } from '../../../src/api/http/connection-limit.js';
import { addressRangesFrom } from '../../../src/core/text/address-ranges.js';
import { startRig, testKey } from '../../support/api-rig.js';
import { deferred } from '../../support/deferred.js';
import { openSocket, readAll, sendRaw } from '../../support/raw-http.js';
import { waitFor } from '../../support/wait-for.js';

const health = 'GET /api/v1/health HTTP/1.1\r\nHost: a\r\n\r\n';
const call = (id: number | string, key = testKey) =>
  `GET /api/v1/notifications/n${id} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n\r\n`;
const lastCall = call('last').replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n');

/** Blocks the event loop. */
function work(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

test('HTTP/1.1: requests that one caller pipelines take turns with those of others', async (t) => {
  let begun = 0;
  const first = deferred();
  const rig = await startRig({
    notifications: {
      getNotification({ notificationId }) {
        begun += 1;
        first.resolve();
        work(4);
        return { notification: { id: notificationId } };
      },
    },
  });
  t.after(() => rig.stop());
  const other = await openSocket(rig.port);
  const greedy = await openSocket(rig.port);
  const all = readAll(greedy);
  const answered = once(other, 'data').then(() => begun);
  greedy.write(call(0).repeat(200) + lastCall);
  other.write(health);
  const begunBefore = await answered;
  assert.ok(begunBefore < 100, `${begunBefore} of 201 calls ran before the call of another caller was answered`);
  assert.equal((await all).match(/HTTP\/1\.1 200/g)?.length, 201);
  other.destroy();
});

test('HTTP/1.1: a connection that pipelines more requests than it may is closed, and others go on', async (t) => {
  let begun = 0;
  const hanging = deferred();
  const rig = await startRig({
    notifications: {
      async getNotification() {
        begun += 1;
        await hanging.promise;
        return {};
      },
    },
  });
  t.after(() => rig.stop());
  assert.equal(await sendRaw(rig.port, call(1).repeat(300)), '');
  assert.ok(begun <= 250, `${begun} calls began`);
  assert.match(await sendRaw(rig.port, health.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')), /^HTTP\/1\.1 200/);
});

test('HTTP/1.1: thousands of requests that their caller pipelines step by step are answered', async (t) => {
  const rig = await startRig();
  t.after(() => rig.stop());
  const socket = await openSocket(rig.port);
  let answers = 0;
  socket.on('data', (chunk: Buffer) => {
    answers += chunk.toString().match(/HTTP\/1\.1 200/g)?.length ?? 0;
  });
  for (let round = 1; round <= 20; round += 1) {
    socket.write(health.repeat(200));
    await waitFor('the answers', () => answers === round * 200 || undefined);
  }
  socket.destroy();
});

test('HTTP/1.1: a body in chunks of one byte arrives whole', async (t) => {
  const rig = await startRig({ notifications: { getNotification: ({ notificationId }) => ({ notification: { id: notificationId } }) } });
  t.after(() => rig.stop());
  const id = 'x'.repeat(30_000);
  const body = [...JSON.stringify({ notificationId: id })].map((byte) => `1\r\n${byte}\r\n`).join('');
  const answer = await sendRaw(
    rig.port,
    `POST /relayer.v1.NotificationService/GetNotification HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${testKey}\r\nContent-Type: application/json\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n${body}0\r\n\r\n`,
  );
  assert.match(answer, /^HTTP\/1\.1 200/);
  assert.ok(answer.includes(id));
});

test('connections: one address has at most its part of them, a trusted proxy all, and an ended one makes room', async (t) => {
  const isProxy = { value: false };
  const rig = await startRig({ connectionLimits: { total: 8, perAddress: 100, isProxy: () => isProxy.value } });
  t.after(() => rig.stop());
  const held = await Promise.all(Array.from({ length: 4 }, () => openSocket(rig.port)));
  for (const socket of held) {
    socket.write(health);
    await once(socket, 'data');
  }
  assert.equal(await sendRaw(rig.port, health).catch(() => ''), '', 'a fifth connection of the address');
  isProxy.value = true;
  for (let index = 0; index < 4; index += 1) {
    const socket = await openSocket(rig.port);
    held.push(socket);
    socket.write(health);
    await once(socket, 'data');
  }
  assert.equal(await sendRaw(rig.port, health).catch(() => ''), '', 'a ninth connection');
  for (const socket of held) socket.destroy();
  await waitFor(
    'room',
    async () => (await sendRaw(rig.port, health.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')).catch(() => '')) !== '' || undefined,
  );
});

test('connections: a refusal is counted, and one line names the address and the setting; 0 is half of all', async () => {
  const lines: { readonly fields: object; readonly message: string }[] = [];
  const counted: string[] = [];
  const admit = createConnectionLimit(
    { total: 1_000, perAddress: 0, isProxy: () => false },
    {
      log: { warn: (fields, message) => void lines.push({ fields, message }) },
      meter: { connectionRefused: (limit) => void counted.push(limit) },
    },
  );
  const socketOf = (remoteAddress: string) => Object.assign(new EventEmitter(), { remoteAddress }) as unknown as Socket;
  const held = Array.from({ length: 500 }, () => socketOf('192.0.2.7'));
  assert.ok(held.every(admit));
  for (let index = 0; index < 3; index += 1) assert.equal(admit(socketOf('192.0.2.7')), false);
  assert.deepEqual(counted, ['address', 'address', 'address']);
  assert.equal(lines.length, 1);
  assert.deepEqual(lines[0]?.fields, { address: '192.0.2.7', connections: 500, refused: 1 });
  assert.match(lines[0]?.message ?? '', /CONNECTIONS_PER_ADDRESS.*TRUSTED_PROXIES/);
  held[0]?.emit('close');
  assert.ok(admit(socketOf('192.0.2.7')));
});

test('wrong keys: an address is slowed down after 20 of them, its valid keys and other addresses are not', async (t) => {
  const trustedProxies = addressRangesFrom(['127.0.0.1']);
  assert.ok(trustedProxies);
  const rig = await startRig({ brakesWrongKeys: true, trustedProxies, notifications: { getNotification: () => ({}) } });
  t.after(() => rig.stop());
  const ask = async (key: string, address: string) =>
    sendRaw(rig.port, call(1, key).replace('\r\n\r\n', `\r\nX-Forwarded-For: ${address}\r\nConnection: close\r\n\r\n`));
  const answers: string[] = [];
  for (let guess = 0; guess < 40; guess += 1) answers.push(await ask(`guess-${guess}`, '198.51.100.1'));
  assert.ok(answers.slice(0, 20).every((answer) => /^HTTP\/1\.1 401/.test(answer)));
  const slowed = answers.filter((answer) => /^HTTP\/1\.1 429/.test(answer));
  assert.ok(slowed.length >= 10, `${slowed.length} of 40 were slowed down`);
  assert.match(slowed[0] ?? '', /retry-after: 1\r\n/i);
  assert.match(slowed[0] ?? '', /the address sent too many wrong keys/);
  assert.match(await ask('another', '198.51.100.2'), /^HTTP\/1\.1 401/);
  assert.match(await ask(testKey, '198.51.100.1'), /^HTTP\/1\.1 200/);
});
