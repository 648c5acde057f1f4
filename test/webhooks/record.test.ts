import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { redeliverDelivery, testNotification } from '../../src/core/notification/deliveries.js';
import { updateNotification } from '../../src/core/notification/notifications.js';
import type { DeliveryRecord } from '../../src/core/records/notification.js';
import { systemClock } from '../../src/core/work/clock.js';
import { startHttpReceiver } from '../support/http-receiver.js';
import { waitFor } from '../support/wait-for.js';
import { type Outbox, openOutbox } from './outbox.js';

const keys = ['the first key of more than 32 characters', 'the second key of more than 32 characters', 'the third key, as long'] as const;
const ok = (response: ServerResponse) => response.end();

async function recordOf(outbox: Outbox, notificationId: string, id: string): Promise<DeliveryRecord> {
  const record = await outbox.store.read.delivery(notificationId, id);
  assert(record !== undefined);
  return record;
}

function settled(outbox: Outbox, notificationId: string, id: string): Promise<DeliveryRecord> {
  return waitFor(`${id} to be settled`, async () => {
    const record = await recordOf(outbox, notificationId, id);
    return record.event.status === 'pending' ? undefined : record;
  });
}

describe('the record of delivery attempts', () => {
  it('the record of delivery attempts: has the time, status, duration and beginning of the answer of each attempt', async (test) => {
    const said = ['\x1b[2Jbusy\n', 'x'.repeat(5000), ''];
    const receiver = await startHttpReceiver(test, (response) =>
      response.writeHead(receiver.requests.length < 3 ? 500 : 201).end(said[receiver.requests.length - 1]),
    );
    const outbox = await openOutbox(test);
    const notificationId = await outbox.notification(receiver.url('/'));
    const id = await outbox.event(notificationId, 'tx');
    const beforeMs = Date.now();
    const delivery = outbox.deliver();
    const { event, attempts } = await settled(outbox, notificationId, id);
    assert.equal(event.status, 'delivered');
    assert.deepEqual(
      attempts.map(({ httpStatus, error, responseBody }) => [httpStatus, error, responseBody]),
      [
        [500, 'the receiver answered 500', '\\u{1b}[2Jbusy\\u{a}'],
        [500, 'the receiver answered 500', 'x'.repeat(1024)],
        [201, null, ''],
      ],
    );
    for (const { attemptedAtMs, durationMs } of attempts) {
      assert.ok(attemptedAtMs >= beforeMs && attemptedAtMs <= Date.now());
      assert.ok(Number.isInteger(durationMs) && durationMs >= 0 && durationMs <= Date.now() - beforeMs);
    }
    assert.equal(receiver.requests.length, 3);
    assert.deepEqual(outbox.counts, { delivered: 1, failed: 2, dead: 0 });
    assert.equal(await delivery.backlog(), 0);
  });

  it('the record of delivery attempts: has the error of an attempt without an answer', async (test) => {
    const receiver = await startHttpReceiver(test, (response) => response.destroy());
    const outbox = await openOutbox(test);
    const notificationId = await outbox.notification(receiver.url('/'));
    const id = await outbox.event(notificationId, 'tx');
    outbox.deliver({ retrySeconds: [] });
    const { event, attempts } = await settled(outbox, notificationId, id);
    assert.equal(event.status, 'dead');
    assert.deepEqual([attempts.length, attempts[0]?.httpStatus, attempts[0]?.responseBody], [1, null, null]);
    assert.match(attempts[0]?.error ?? '', /other side closed|ECONNRESET/);
    assert.equal(receiver.requests.length, 1);
    assert.deepEqual(outbox.counts, { delivered: 0, failed: 0, dead: 1 });
  });
});

describe('redelivery', () => {
  it('redelivery: posts a dead event again under its id with a new schedule, and keeps the earlier attempts', async (test) => {
    let failures = 4;
    const receiver = await startHttpReceiver(test, (response) => {
      failures -= 1;
      response.writeHead(failures >= 0 ? 500 : 200).end();
    });
    const outbox = await openOutbox(test);
    const notificationId = await outbox.notification(receiver.url('/'));
    const id = await outbox.event(notificationId, 'tx');
    const delivery = outbox.deliver({ retrySeconds: [0.01, 0.01] });
    assert.equal((await settled(outbox, notificationId, id)).event.status, 'dead');

    const { delivery: due } = await redeliverDelivery({ store: outbox.store, clock: systemClock }, notificationId, id);
    assert.equal(due.attempts.length, 3);
    delivery.wake();
    const { event, attempts } = await settled(outbox, notificationId, id);
    assert.equal(event.status, 'delivered');
    assert.deepEqual(
      attempts.map(({ httpStatus }) => httpStatus),
      [500, 500, 500, 500, 200],
    );
    assert.deepEqual(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])), new Set([id]));
    assert.equal((await outbox.store.read.deliveries(notificationId, { offset: 0, limit: 10 })).total, 1);
  });

  it('redelivery: posts a delivered event again, and a waiting event before its time', async (test) => {
    const receiver = await startHttpReceiver(test, (response) => response.writeHead(receiver.requests.length === 2 ? 500 : 200).end());
    const outbox = await openOutbox(test);
    const notificationId = await outbox.notification(receiver.url('/'));
    const id = await outbox.event(notificationId, 'tx');
    const delivery = outbox.deliver({ retrySeconds: [3600] });
    await settled(outbox, notificationId, id);
    for (const posts of [2, 3]) {
      await redeliverDelivery({ store: outbox.store, clock: systemClock }, notificationId, id);
      delivery.wake();
      await waitFor(`attempt ${posts} to be stored`, async () =>
        (await recordOf(outbox, notificationId, id)).attempts.length === posts ? true : undefined,
      );
    }
    assert.equal((await settled(outbox, notificationId, id)).event.status, 'delivered');
    assert.equal(receiver.requests.length, 3);
  });
});

describe('a receiver that answered 410 (gone)', () => {
  it('a receiver that answered 410 (gone): gets no request until its notification is updated', async (test) => {
    let gone = true;
    const receiver = await startHttpReceiver(test, (response) => response.writeHead(gone ? 410 : 200).end('moved away'));
    const outbox = await openOutbox(test);
    const { store } = outbox;
    const notificationId = await outbox.notification(receiver.url('/'), keys[0]);
    const first = await outbox.event(notificationId, 'tx');
    const delivery = outbox.deliver();
    const { event, attempts } = await settled(outbox, notificationId, first);
    assert.deepEqual([event.status, attempts.length, attempts[0]?.httpStatus], ['dead', 1, 410]);

    const later = await Promise.all(['tx', 'tx', 'other'].map((orderKey) => outbox.event(notificationId, orderKey)));
    await redeliverDelivery({ store, clock: systemClock }, notificationId, first);
    delivery.wake();
    for (const id of [...later, first]) {
      const record = await settled(outbox, notificationId, id);
      assert.equal(record.event.status, 'dead');
      assert.match(record.attempts.at(-1)?.error ?? '', /^not sent: the receiver answered 410 \(gone\) at .*; update the notification/);
    }
    assert.equal(receiver.requests.length, 1);
    assert.deepEqual(outbox.counts, { delivered: 0, failed: 0, dead: 5 });

    // The record survives a restart.
    await delivery.stop(AbortSignal.timeout(5000));
    await outbox.reopen();
    const again = outbox.deliver();
    const undialled = await outbox.event(notificationId, 'tx');
    again.wake();
    assert.equal((await settled(outbox, notificationId, undialled)).event.status, 'dead');
    assert.equal(receiver.requests.length, 1);

    gone = false;
    const deps = { store: outbox.store, secretBox: outbox.secretBox, clock: systemClock, allowPrivateTargets: true };
    await updateNotification(deps, { id: notificationId, url: receiver.url('/'), signingKey: undefined });
    await redeliverDelivery(deps, notificationId, first);
    again.wake();
    assert.equal((await settled(outbox, notificationId, first)).event.status, 'delivered');
  });

  it('a receiver that answered 410 (gone): does not stop deliveries to an address that was set during the request', async (test) => {
    const waiting: ServerResponse[] = [];
    const before = await startHttpReceiver(test, (response) => waiting.push(response));
    const now = await startHttpReceiver(test, ok);
    const outbox = await openOutbox(test);
    const notificationId = await outbox.notification(before.url('/'));
    const first = await outbox.event(notificationId, 'tx');
    const delivery = outbox.deliver();
    const response = await waitFor('the first attempt', () => waiting[0]);
    const deps = { store: outbox.store, secretBox: outbox.secretBox, clock: systemClock, allowPrivateTargets: true };
    await updateNotification(deps, { id: notificationId, url: now.url('/'), signingKey: undefined });
    response.writeHead(410).end();
    await settled(outbox, notificationId, first);
    const next = await outbox.event(notificationId, 'tx');
    delivery.wake();
    assert.equal((await settled(outbox, notificationId, next)).event.status, 'delivered');
  });
});

describe('delivery signatures', () => {
  it('delivery signatures: use every key of the last 24 hours, the current key first, and no key after its removal', async (test) => {
    const receiver = await startHttpReceiver(test, ok);
    const outbox = await openOutbox(test);
    let aheadMs = 0;
    const clock = { nowMs: () => Date.now() + aheadMs };
    const deps = { ...outbox, store: outbox.store, clock, allowPrivateTargets: true };
    const id = await outbox.notification(receiver.url('/'), keys[0]);
    const delivery = outbox.deliver({ clock });

    /** Returns the keys that verify the next delivery. */
    async function verifying(): Promise<{ readonly entries: number; readonly by: readonly number[] }> {
      const number = receiver.requests.length;
      await testNotification({ ...deps, ids: outbox.ids, limitTests: () => undefined }, id);
      delivery.wake();
      const { headers, body } = await waitFor('the delivery', () => receiver.requests[number]);
      const verifies = (key: string) => {
        // The library uses the system clock only.
        const shifted = Number(headers['webhook-timestamp']) * 1000 - Date.now();
        return shifted >= aheadMs - 5000 && isVerified(key, headers as Record<string, string>, body, shifted);
      };
      return {
        entries: String(headers['webhook-signature'] ?? '')
          .split(' ')
          .filter((entry) => entry.startsWith('v1,')).length,
        by: keys.flatMap((key, index) => (verifies(key) ? [index] : [])),
      };
    }
    const rotate = (signingKey: string) => updateNotification(deps, { id, url: undefined, signingKey });

    assert.deepEqual(await verifying(), { entries: 1, by: [0] });
    await rotate(keys[1]);
    assert.deepEqual(await verifying(), { entries: 2, by: [0, 1] });
    aheadMs += 23 * 3_600_000;
    await rotate(keys[2]);
    assert.deepEqual(await verifying(), { entries: 3, by: [0, 1, 2] });
    aheadMs += 3_600_000;
    assert.deepEqual(await verifying(), { entries: 2, by: [1, 2] });
    aheadMs += 23 * 3_600_000;
    assert.deepEqual(await verifying(), { entries: 1, by: [2] });
    await rotate(keys[0]);
    await rotate('');
    assert.deepEqual(await verifying(), { entries: 0, by: [] });
  });
});

/** Verifies with the `standardwebhooks` package, whose clock is moved during the check. */
function isVerified(key: string, headers: Record<string, string>, body: Buffer, aheadMs: number): boolean {
  const now = Date.now;
  try {
    Date.now = () => now() + aheadMs;
    new Webhook(key, { format: 'raw' }).verify(body.toString(), headers);
    return true;
  } catch {
    return false;
  } finally {
    Date.now = now;
  }
}
