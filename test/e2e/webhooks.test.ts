import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { parseEther } from 'ethers';
import { Webhook } from 'standardwebhooks';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { type RpcCaller, rest, rpcCallers } from '../support/callers.js';
import { type HttpReceiver, type ReceivedRequest, startHttpReceiver } from '../support/http-receiver.js';
import { createServiceHome, databaseBytes, type RunningService, type ServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

// One search finds any of them, or what whsec_ encodes, anywhere.
const mark = 'SECRETMARK';
const firstKey = `${mark}-first-0123456789-0123456789`;
const secondKey = `whsec_${Buffer.from(`${mark}-second-0123456789`).toString('base64')}`;

interface Delivery {
  readonly id: string;
  readonly event: string;
  readonly status: string;
  readonly created_at: string;
  readonly next_attempt_at: string | null;
  readonly attempts: readonly Record<string, unknown>[];
}

describe('webhooks', () => {
  let anvil: Anvil;
  let home: ServiceHome;
  let service: RunningService;
  let callers: readonly RpcCaller[];
  let receiver: HttpReceiver;
  let answer = (response: ServerResponse): unknown => response.writeHead(204).end();
  const answers: string[] = [];
  const releases: (() => void)[] = [];

  before(async () => {
    receiver = await startHttpReceiver({ after: (release) => void releases.push(release) }, (response) => void answer(response));
    anvil = await startAnvil();
    home = await createServiceHome({
      rpcUrl: anvil.url,
      notifications: [{ id: 'hook', type: 'webhook', url: receiver.url('/hook'), signing_key: { type: 'plain', value: firstKey } }],
      notificationId: 'hook',
      env: { LOG_LEVEL: 'debug', WEBHOOK_RETRY_SECONDS: '0.05,3600' },
    });
    await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('1').toString(16)}`]);
    service = await startService(home);
    callers = rpcCallers(service.baseUrl);
  });

  after(async () => {
    for (const caller of callers ?? []) caller.close();
    await service?.stop();
    await anvil?.stop();
    await home?.remove();
    for (const release of releases) release();
  });

  async function call(verb: string, path: string, body?: object): Promise<{ status: number; data: Delivery; logs: string[] }> {
    const { status, text, body: envelope } = await rest(service.baseUrl, verb, path, body);
    answers.push(text);
    return { status, data: envelope.data, logs: (envelope.metadata?.logs ?? []).map(({ message }: { message: string }) => message) };
  }

  const list = async (notificationId = 'hook') =>
    (await rest(service.baseUrl, 'GET', `/notifications/${notificationId}/deliveries?per_page=100`)).body.data as Delivery[];
  const delivery = (id: string, isWanted: (found: Delivery) => boolean, notificationId?: string) =>
    waitFor(`delivery ${id}`, async () => (await list(notificationId)).find((found) => found.id === id && isWanted(found)));
  const requestOf = (id: string) =>
    waitFor(`the post of ${id}`, () => receiver.requests.findLast(({ headers }) => headers['webhook-id'] === id));

  it('webhooks: events of a transaction arrive in order, each with both signatures over the exact body', async () => {
    const { data } = await call('POST', '/relayers/r1/transactions', {
      to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
      value: '123456789012345678',
      speed: 'fast',
    });
    await anvil.mine(2);
    const told = await waitFor('the last event', () => {
      const events = receiver.requests.map(({ body }) => JSON.parse(body.toString()));
      return events.at(-1)?.payload.status === 'confirmed' ? events : undefined;
    });
    assert.deepEqual(
      told.map(({ event, payload }) => [event, payload.payload_type, payload.id, payload.status]),
      ['pending', 'sent', 'submitted', 'mined', 'confirmed'].map((status) => ['transaction_update', 'transaction', data.id, status]),
    );
    const record = (await rest(service.baseUrl, 'GET', `/relayers/r1/transactions/${data.id}`)).body.data;
    assert.deepEqual(told.at(-1).payload, { payload_type: 'transaction', ...record });
    for (const request of receiver.requests) assertSigned(request, firstKey);
  });

  it('webhooks: a test event can be sent over every protocol without a relayer', async () => {
    await call('POST', '/notifications', { id: 'alone', url: receiver.url('/alone'), signing_key: firstKey });
    const { status, data } = await call('POST', '/notifications/alone/test');
    assert.equal(status, 200);
    assert.deepEqual(
      { ...data, id: '', created_at: '', next_attempt_at: '' },
      { id: '', event: 'test', status: 'pending', created_at: '', next_attempt_at: '', attempts: [], body: null },
    );
    assert.equal(data.next_attempt_at, data.created_at);
    const tested = [data.id];
    for (const caller of callers) {
      const outcome = await caller.call('NotificationService', 'TestNotification', { notification_id: 'alone' });
      assert.ok(outcome.ok, caller.protocol);
      tested.push((outcome.response.delivery as Delivery).id);
    }
    for (const id of tested) {
      const request = await requestOf(id);
      assert.equal(request.path, '/alone');
      assertSigned(request, firstKey);
      const { timestamp, ...event } = JSON.parse(request.body.toString());
      assert.ok(Date.now() - Date.parse(timestamp) < 60_000);
      assert.deepEqual(event, { id, event: 'test', payload: { payload_type: 'test', notification_id: 'alone' } });
    }
  });

  it('webhooks: deliveries list every attempt and can be redelivered', async () => {
    answer = (response) => response.writeHead(500).end('out of\norder\x1b[0m');
    const { data } = await call('POST', '/notifications/alone/test');
    const failing = await delivery(data.id, ({ attempts }) => attempts.length === 2, 'alone');
    assert.equal(failing.status, 'pending');
    assert.ok(Date.parse(failing.next_attempt_at ?? '') > Date.now() + 3_000_000);
    for (const { attempted_at, duration_ms, ...attempt } of failing.attempts) {
      assert.match(String(attempted_at), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      assert.ok(Number.isInteger(duration_ms));
      assert.deepEqual(attempt, { http_status: 500, error: 'the receiver answered 500', response_body: 'out of\\u{a}order\\u{1b}[0m' });
    }

    answer = (response) => response.writeHead(200).end('thanks');
    const { status, data: due } = await call('POST', `/notifications/alone/deliveries/${data.id}/redeliver`);
    assert.deepEqual([status, due.id, due.status, due.attempts.length], [200, data.id, 'pending', 2]);
    const delivered = await delivery(data.id, (found) => found.status === 'delivered', 'alone');
    assert.equal(delivered.next_attempt_at, null);
    const { attempted_at: _, duration_ms: __, ...last } = delivered.attempts[2] ?? {};
    assert.deepEqual(last, { http_status: 200, error: null, response_body: 'thanks' });

    for (const [index, caller] of callers.entries()) {
      const message = { notification_id: 'alone', delivery_id: data.id };
      const outcome = await caller.call('NotificationService', 'RedeliverDelivery', message);
      assert.ok(outcome.ok, caller.protocol);
      await delivery(data.id, (found) => found.status === 'delivered' && found.attempts.length === 4 + index, 'alone');
      const listed = await caller.call('NotificationService', 'ListDeliveries', { notification_id: 'alone', per_page: 1 });
      assert.ok(listed.ok, caller.protocol);
      const [first] = listed.response.deliveries as Delivery[];
      assert.deepEqual([first?.id, first?.status, first?.attempts.length], [data.id, 'DELIVERY_STATUS_DELIVERED', 4 + index]);
    }
    const posts = receiver.requests.filter(({ headers }) => headers['webhook-id'] === data.id);
    assert.equal(posts.length, 6);
    assert.equal(new Set(posts.map(({ body }) => body.toString())).size, 1);
    assert.equal((await list('alone')).filter(({ id }) => id === data.id).length, 1, 'no second row');
  });

  it('webhooks: an unknown notification or delivery is not found', async () => {
    const [known] = await list('alone');
    for (const [verb, path, sentence] of [
      ['GET', '/notifications/nobody/deliveries', 'Notification with ID nobody not found'],
      ['POST', '/notifications/nobody/test', 'Notification with ID nobody not found'],
      ['POST', `/notifications/nobody/deliveries/${known?.id}/redeliver`, 'Notification with ID nobody not found'],
      ['POST', '/notifications/alone/deliveries/x/redeliver', 'Delivery with ID x not found'],
      ['POST', `/notifications/hook/deliveries/${known?.id}/redeliver`, `Delivery with ID ${known?.id} not found`],
    ] as const) {
      const { status, body } = await rest(service.baseUrl, verb, path);
      assert.deepEqual([status, body.error], [404, sentence]);
    }
    for (const caller of callers) {
      const outcome = await caller.call('NotificationService', 'RedeliverDelivery', { notification_id: 'alone', delivery_id: 'x' });
      assert.ok(!outcome.ok);
      assert.equal(outcome.code, 'NOT_FOUND');
    }
  });

  it('webhooks: deliveries stop after a 410 until the notification is updated', async () => {
    answer = (response) => response.writeHead(410).end();
    const { data: first } = await call('POST', '/notifications/alone/test');
    await delivery(first.id, ({ status }) => status === 'dead', 'alone');
    const posts = receiver.requests.length;
    const { data: second, logs } = await call('POST', '/notifications/alone/test');
    assert.match(logs[0] ?? '', /410 \(gone\)/);
    const { attempts } = await delivery(second.id, ({ status }) => status === 'dead', 'alone');
    assert.deepEqual([attempts.length, attempts[0]?.http_status, receiver.requests.length], [1, null, posts]);
    answer = (response) => response.end();
    await call('PATCH', '/notifications/alone', { url: receiver.url('/alone') });
    await call('POST', `/notifications/alone/deliveries/${first.id}/redeliver`);
    await delivery(first.id, ({ status }) => status === 'delivered', 'alone');
  });

  it('webhooks: the previous key signs too until it is removed', async () => {
    await call('PATCH', '/notifications/alone', { signing_key: secondKey });
    const rotated = await requestOf((await call('POST', '/notifications/alone/test')).data.id);
    assert.equal(String(rotated.headers['webhook-signature']).split(' ').length, 2);
    assertSigned(rotated, secondKey);
    assert.ok(isVerified(rotated, firstKey), 'by the key before');
    assert.notEqual(rotated.headers['x-signature'], createHmac('sha256', firstKey).update(rotated.body).digest('base64'));
    await call('PATCH', '/notifications/alone', { signing_key: '' });
    const unsigned = await requestOf((await call('POST', '/notifications/alone/test')).data.id);
    assert.deepEqual([unsigned.headers['webhook-signature'], unsigned.headers['x-signature']], [undefined, undefined]);
    await call('PATCH', '/notifications/alone', { signing_key: firstKey });
    await call('PATCH', '/notifications/alone', { signing_key: secondKey });
  });

  it('webhooks: signing keys, also retired ones, are in no answer, log or database byte', async () => {
    const everything = [...answers, service.output()].join('\n');
    const bytes = await databaseBytes(home);
    assert.ok(answers.length > 10 && bytes.includes('alone'));
    for (const secret of [mark, secondKey, secondKey.slice(6, 30)]) {
      assert.equal(everything.includes(secret), false);
      assert.equal(bytes.includes(secret), false);
    }
  });
});

/** By the `standardwebhooks` package. */
function isVerified({ body, headers }: Pick<ReceivedRequest, 'body' | 'headers'>, key: string): boolean {
  const webhook = key.startsWith('whsec_') ? new Webhook(key) : new Webhook(key, { format: 'raw' });
  try {
    webhook.verify(body.toString(), headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
}

/** Signed by this key in both ways, so no part of it can be changed. */
function assertSigned(request: ReceivedRequest, key: string): void {
  const { body, headers } = request;
  assert.equal(headers['x-signature'], createHmac('sha256', key).update(body).digest('base64'));
  assert.ok(isVerified(request, key));
  const flipped = Buffer.from(body);
  flipped[flipped.length >> 1] = (flipped[flipped.length >> 1] ?? 0) ^ 1;
  assert.ok(!isVerified({ headers, body: flipped }, key), 'a flipped bit');
  assert.ok(!isVerified({ body, headers: { ...headers, 'webhook-id': 'another' } }, key), 'another id');
  const old = { 'webhook-timestamp': `${Number(headers['webhook-timestamp']) - 400}` };
  assert.ok(!isVerified({ body, headers: { ...headers, ...old } }, key), 'an old timestamp');
  assert.ok(!isVerified(request, 'another key of more than 32 characters'), 'another key');
}
