import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { DomainError } from '../../../src/core/errors/errors.js';
import { listDeliveries, redeliverDelivery, testNotification } from '../../../src/core/notification/deliveries.js';
import { createNotification, updateNotification } from '../../../src/core/notification/notifications.js';
import { createTestLimit } from '../../../src/core/notification/test-limit.js';
import { systemIds } from '../../../src/core/records/ids.js';
import { openStore } from '../../../src/storage/open-store.js';
import { createSecretBox } from '../../../src/storage/secret-box.js';
import { anEvent, silentLog } from '../../support/stored-samples.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

const nowMs = Date.UTC(2030, 0, 1);
const firstPage = { offset: 0, limit: 10 };

async function openDeps(test: TestContext) {
  const { store } = await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silentLog });
  test.after(() => store.close());
  const secretBox = createSecretBox(randomBytes(32).toString('base64'));
  const deps = { store, clock: { nowMs: () => nowMs }, ids: systemIds, secretBox, allowPrivateTargets: false, limitTests: () => undefined };
  for (const id of ['hook', 'other']) await createNotification(deps, { id, url: 'https://hooks.acme.com/', signingKey: undefined });
  return deps;
}

function reason(expected: string): (error: unknown) => boolean {
  return (error) => {
    assert(error instanceof DomainError);
    assert.deepEqual([error.kind, error.reason], ['not_found', expected]);
    return true;
  };
}

describe('testing a notification', () => {
  it('test delivery: is due at once and waits for no other event', async (test) => {
    const deps = await openDeps(test);
    await deps.store.commit([deps.store.change.insertEvent(anEvent({ id: 'before', orderKey: 'tx' }))]);
    const first = await testNotification(deps, 'hook');
    const second = await testNotification(deps, 'hook');
    assert.deepEqual(first.warnings, []);
    const { event } = first.delivery;
    assert.deepEqual([event.event, event.status, event.nextAttemptAtMs, first.delivery.attempts], ['test', 'pending', nowMs, []]);
    assert.deepEqual(JSON.parse(event.body), {
      id: event.id,
      event: 'test',
      payload: { payload_type: 'test', notification_id: 'hook' },
      timestamp: '2030-01-01T00:00:00.000Z',
    });
    const due = await deps.store.read.dueEvents('hook', nowMs, 10);
    assert.deepEqual(due.map(({ id }) => id).sort(), ['before', event.id, second.delivery.event.id].sort());
  });

  it('test delivery: fails for an unknown notification', async (test) => {
    await assert.rejects(testNotification(await openDeps(test), 'nobody'), reason('NOTIFICATION_NOT_FOUND'));
  });

  it('test delivery: ten at once and one per second may be asked for of one notification, and a hundred of all', async (test) => {
    let now = nowMs;
    const clock = { nowMs: () => now };
    const deps = { ...(await openDeps(test)), clock, limitTests: createTestLimit(clock) };
    const limited = { kind: 'rate_limited', reason: 'RATE_LIMITED', retryAfterMs: 1000 };
    for (let count = 0; count < 10; count += 1) await testNotification(deps, 'hook');
    await assert.rejects(testNotification(deps, 'hook'), {
      ...limited,
      message: /^notification hook is over the limit of test deliveries/,
    });
    assert.equal((await listDeliveries(deps, 'hook', firstPage)).total, 10, 'nothing is stored for a refused test');
    await testNotification(deps, 'other');
    now += 1000;
    await testNotification(deps, 'hook');
    await assert.rejects(testNotification(deps, 'hook'), limited);

    const limitTests = createTestLimit(clock);
    for (let count = 0; count < 100; count += 1) limitTests(`notification-${count}`);
    assert.throws(() => limitTests('one-more'), { ...limited, message: /^all notifications together are over/ });
  });
});

describe('listing deliveries', () => {
  it('list: shows a notification’s deliveries, newest first, with their attempts', async (test) => {
    const deps = await openDeps(test);
    const { change } = deps.store;
    const attempt = { attemptedAtMs: 7, durationMs: 3, httpStatus: 500, error: 'the receiver answered 500', responseBody: 'why' };
    const [a, b] = [anEvent({ id: 'a' }), anEvent({ id: 'b' })];
    await deps.store.commit([a, b, anEvent({ id: 'c', notificationId: 'other' })].map((event) => change.insertEvent(event)));
    await deps.store.commit([change.insertDeliveryAttempt('a', attempt)]);
    assert.deepEqual(await listDeliveries(deps, 'hook', firstPage), {
      items: [
        { event: b, attempts: [] },
        { event: a, attempts: [attempt] },
      ],
      total: 2,
    });
    await assert.rejects(listDeliveries(deps, 'nobody', firstPage), reason('NOTIFICATION_NOT_FOUND'));
  });
});

describe('redelivering', () => {
  for (const status of ['dead', 'delivered', 'pending'] as const) {
    it(`redeliver: makes a ${status} delivery due now with the same id and a fresh retry schedule`, async (test) => {
      const deps = await openDeps(test);
      const { change, read } = deps.store;
      await deps.store.commit([change.insertEvent(anEvent({ id: 'a' }))]);
      await deps.store.commit([change.updateEvent({ id: 'a', status, attempts: 4, nextAttemptAtMs: nowMs + 1000 })]);
      const { delivery, warnings } = await redeliverDelivery(deps, 'hook', 'a');
      assert.deepEqual(delivery, { event: anEvent({ id: 'a', nextAttemptAtMs: nowMs }), attempts: [] });
      assert.deepEqual(warnings, []);
      assert.deepEqual(await read.dueEvents('hook', nowMs, 10), [delivery.event]);
      assert.equal((await listDeliveries(deps, 'hook', firstPage)).total, 1);
    });
  }

  it('redeliver: fails for an unknown delivery or another notification’s', async (test) => {
    const deps = await openDeps(test);
    await deps.store.commit([deps.store.change.insertEvent(anEvent({ id: 'a' }))]);
    await assert.rejects(redeliverDelivery(deps, 'hook', 'b'), reason('DELIVERY_NOT_FOUND'));
    await assert.rejects(redeliverDelivery(deps, 'other', 'a'), reason('DELIVERY_NOT_FOUND'));
    await assert.rejects(redeliverDelivery(deps, 'nobody', 'a'), reason('NOTIFICATION_NOT_FOUND'));
    await assert.rejects(redeliverDelivery(deps, 'hook', `\0${'x'.repeat(200)}`), (error: unknown) => {
      assert.equal(String(error), `DomainError: Delivery with ID \0${'x'.repeat(63)} not found`);
      return reason('DELIVERY_NOT_FOUND')(error);
    });
  });

  it('redeliver: warns while the receiver is gone, until the notification is updated', async (test) => {
    const deps = await openDeps(test);
    const { change, read } = deps.store;
    await deps.store.commit([change.insertEvent(anEvent({ id: 'a' })), change.markNotificationGone({ id: 'hook', revision: 1 }, nowMs)]);
    const expected = ['the receiver answered 410 (gone) at 2030-01-01T00:00:00.000Z; nothing is sent until you update the notification'];
    assert.deepEqual((await redeliverDelivery(deps, 'hook', 'a')).warnings, expected);
    assert.deepEqual((await testNotification(deps, 'hook')).warnings, expected);
    await updateNotification(deps, { id: 'hook', url: undefined, signingKey: undefined });
    assert.equal((await read.notification('hook'))?.goneAtMs, nowMs);
    await updateNotification(deps, { id: 'hook', url: 'https://hooks.acme.com/', signingKey: undefined });
    assert.equal((await read.notification('hook'))?.goneAtMs, null);
    assert.deepEqual((await redeliverDelivery(deps, 'hook', 'a')).warnings, []);
  });
});
