import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createClient, createRouterTransport, type Interceptor } from '@connectrpc/connect';
import { DeliveryStatus, EventType, NotificationService, NotificationType } from '../../../../gen/relayer/v1/notification_service_pb.js';
import { type Call, callKey, noStoredResponse } from '../../../../src/api/contract/call.js';
import { createNotificationService } from '../../../../src/api/services/notifications/notification-service.js';
import { DomainError } from '../../../../src/core/errors/errors.js';
import { createTestLimit } from '../../../../src/core/notification/test-limit.js';
import { systemIds } from '../../../../src/core/records/ids.js';
import { systemClock } from '../../../../src/core/work/clock.js';
import { openStore } from '../../../../src/storage/open-store.js';
import { createSecretBox } from '../../../../src/storage/secret-box.js';
import { definitionWriterOf } from '../../../support/definition-writer-of.js';
import { anEvent } from '../../../support/stored-samples.js';
import { temporaryFolder } from '../../../support/temporary-folder.js';

const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const url = 'https://hooks.acme.com/relayer';
/** The path is often the only credential. */
const shownUrl = 'https://hooks.acme.com/***';
const key = 'a signing key of more than 32 characters';

async function startClient(test: TestContext) {
  const { store } = await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silent });
  test.after(() => store.close());
  const writer = definitionWriterOf(store);
  const service = createNotificationService({
    store,
    clock: systemClock,
    ids: systemIds,
    secretBox: createSecretBox(randomBytes(32).toString('base64')),
    allowPrivateTargets: false,
    exclusively: writer.exclusively,
    writer,
    relayersUsing: (id) => (id === 'used' ? ['r1'] : []),
    limitTests: createTestLimit(systemClock),
  });
  const call: Call = {
    requestId: 'r',
    callerAddress: null,
    path: '/',
    startedAtMs: 0,
    auditFacts: {},
    auditedStatus: null,
    isAudited: false,
    principal: { keyId: 'k', name: 'k', scopes: new Set(), relayers: null, addresses: null, digest: null, expiresAtMs: null, ended: null },
    warnings: [],
    bodyProblem: null,
    traceParent: null,
    traceId: null,
    failure: null,
    relayer: null,
    idempotencyKeys: [],
    fieldNames: 'proto',
    storedResponse: noStoredResponse,
    complete: null,
    waitedMs: 0,
  };
  const errors: unknown[] = [];
  const gate: Interceptor = (next) => async (request) => {
    request.contextValues.set(callKey, call);
    try {
      return await next(request);
    } catch (error) {
      errors.push(error);
      throw error;
    }
  };
  const transport = createRouterTransport((router) => router.service(NotificationService, service), { router: { interceptors: [gate] } });
  const client = createClient(NotificationService, transport);
  const reasonOf = async (answer: Promise<unknown>) => {
    await assert.rejects(answer);
    const error = errors.at(-1);
    return error instanceof DomainError ? error.reason : error;
  };
  return { client, store, call, reasonOf };
}

describe('NotificationService', () => {
  it('notifications: are created, changed, shown, listed and deleted, and never show the key', async (test) => {
    const { client, call } = await startClient(test);
    const created = await client.createNotification({ id: 'n', url, signingKey: key, type: NotificationType.WEBHOOK });
    const { $typeName, ...shown } = created.notification ?? assert.fail('no notification');
    assert.equal($typeName, 'relayer.v1.Notification');
    assert.deepEqual(shown, { id: 'n', type: NotificationType.WEBHOOK, url: shownUrl, hasSigningKey: true, relayerIds: [] });

    const updated = await client.updateNotification({ notificationId: 'n', signingKey: '' });
    assert.equal(updated.notification?.hasSigningKey, false);
    assert.equal(updated.notification.url, shownUrl);
    assert.deepEqual((await client.getNotification({ notificationId: 'n' })).notification, updated.notification);

    const list = await client.listNotifications({ perPage: 1000 });
    assert.deepEqual(list.notifications, [updated.notification]);
    assert.equal(list.pagination?.totalItems, 1n);
    assert.deepEqual(
      call.warnings.map(({ level, message }) => `${level}: ${message}`),
      ['warn: per_page is at most 100; 100 was used'],
    );

    await client.deleteNotification({ notificationId: 'n' });
    assert.deepEqual((await client.listNotifications({})).notifications, []);
  });

  it('notifications: an update with the URL as it is shown keeps the stored one', async (test) => {
    const { client, store, reasonOf } = await startClient(test);
    await client.createNotification({ id: 'n', url });
    const storedUrl = async () => (await store.read.notification('n'))?.url;
    const goneAtMs = async () => (await store.read.notification('n'))?.goneAtMs;
    const kept = await store.read.notification('n');
    await store.commit([store.change.updateNotification({ ...(kept ?? assert.fail()), goneAtMs: 1, revision: 2 })]);

    for (const masked of ['https://hooks.acme.com:8443/***', 'http://hooks.acme.com/***', 'https://other.acme.com/***', '/***'])
      assert.equal(await reasonOf(client.updateNotification({ notificationId: 'n', url: masked })), 'FIELD_INVALID');
    assert.deepEqual([await storedUrl(), await goneAtMs()], [url, 1], 'what was refused has changed nothing');
    assert.equal(await reasonOf(client.updateNotification({ notificationId: 'm', url: shownUrl })), 'NOTIFICATION_NOT_FOUND');
    assert.equal(await reasonOf(client.createNotification({ url: shownUrl })), 'FIELD_INVALID');

    const { notification } = await client.updateNotification({ notificationId: 'n', url: shownUrl });
    assert.deepEqual([notification?.url, await storedUrl(), await goneAtMs()], [shownUrl, url, null], 'it resumes, as with any URL');

    await client.updateNotification({ notificationId: 'n', url: 'https://hooks.acme.com/' });
    assert.equal(
      await reasonOf(client.updateNotification({ notificationId: 'n', url: shownUrl })),
      'FIELD_INVALID',
      'it is shown whole now',
    );
  });

  it('notifications: a short signing key causes a warning', async (test) => {
    const { client, call } = await startClient(test);
    await client.createNotification({ url, signingKey: 'short' });
    assert.deepEqual(
      call.warnings.map(({ level }) => level),
      ['warn'],
    );
  });

  it('notifications: errors have the reasons of the use cases', async (test) => {
    const { client, reasonOf } = await startClient(test);
    await client.createNotification({ id: 'used', url });
    assert.equal(await reasonOf(client.createNotification({ id: 'used', url })), 'NOTIFICATION_EXISTS');
    assert.equal(await reasonOf(client.createNotification({})), 'FIELD_INVALID');
    assert.equal(await reasonOf(client.createNotification({ url, type: 7 as NotificationType })), 'FIELD_INVALID');
    assert.equal(await reasonOf(client.createNotification({ url: 'http://169.254.169.254/' })), 'WEBHOOK_TARGET_REFUSED');
    assert.equal(await reasonOf(client.updateNotification({ notificationId: 'x' })), 'NOTIFICATION_NOT_FOUND');
    assert.equal(await reasonOf(client.deleteNotification({ notificationId: 'used' })), 'NOTIFICATION_IN_USE');
    assert.equal(await reasonOf(client.listNotifications({ page: 0 })), 'FIELD_INVALID');
  });

  it('notifications: deliveries are tested, listed and redelivered', async (test) => {
    const { client, store, call, reasonOf } = await startClient(test);
    await client.createNotification({ id: 'n', url });
    const { delivery: tested } = await client.testNotification({ notificationId: 'n' });
    assert.deepEqual([tested?.event, tested?.status, tested?.attempts], [EventType.TEST, DeliveryStatus.PENDING, []]);
    assert.ok(tested?.nextAttemptAt !== undefined && tested.createdAt !== undefined);
    assert.deepEqual((await client.listDeliveries({ notificationId: 'n' })).deliveries, [tested]);

    const failure = { attemptedAtMs: 1_000, durationMs: 12, httpStatus: 410, error: 'gone', responseBody: 'bye' };
    await store.commit([
      store.change.updateEvent({ id: tested.id, status: 'dead', attempts: 2, nextAttemptAtMs: 2_000 }),
      store.change.insertDeliveryAttempt(tested.id, { ...failure, httpStatus: null, responseBody: null }),
      store.change.insertDeliveryAttempt(tested.id, failure),
      store.change.markNotificationGone({ id: 'n', revision: 1 }, 2_000),
    ]);
    const listed = await client.listDeliveries({ notificationId: 'n', perPage: 1 });
    assert.deepEqual([listed.pagination?.totalItems, listed.deliveries[0]?.status], [1n, DeliveryStatus.DEAD]);
    assert.equal(listed.deliveries[0]?.nextAttemptAt, undefined);
    assert.deepEqual(
      listed.deliveries[0]?.attempts.map(({ httpStatus, duration, error, responseBody }) => [
        httpStatus,
        duration?.nanos,
        error,
        responseBody,
      ]),
      [
        [undefined, 12_000_000, 'gone', undefined],
        [410, 12_000_000, 'gone', 'bye'],
      ],
    );

    const { delivery: due } = await client.redeliverDelivery({ notificationId: 'n', deliveryId: tested.id });
    assert.deepEqual([due?.id, due?.status, due?.attempts.length], [tested.id, DeliveryStatus.PENDING, 2]);
    assert.match(call.warnings.at(-1)?.message ?? '', /410 \(gone\)/);
    assert.equal(await reasonOf(client.redeliverDelivery({ notificationId: 'n', deliveryId: 'x' })), 'DELIVERY_NOT_FOUND');
    assert.equal(await reasonOf(client.testNotification({ notificationId: 'x' })), 'NOTIFICATION_NOT_FOUND');
    assert.equal(await reasonOf(client.listDeliveries({ notificationId: 'x' })), 'NOTIFICATION_NOT_FOUND');
  });

  it('notifications: one delivery has the body exactly as it is posted, and a list has none', async (test) => {
    const { client, store, reasonOf } = await startClient(test);
    for (const id of ['n', 'other']) await client.createNotification({ id, url });
    const body = '{ "id":"e",  "value": 1.50, "text":"\\u00e9 é" }';
    await store.commit([store.change.insertEvent(anEvent({ id: 'e', notificationId: 'n', body }))]);
    const { delivery } = await client.getDelivery({ notificationId: 'n', deliveryId: 'e' });
    assert.equal(delivery?.body, body);
    const { deliveries } = await client.listDeliveries({ notificationId: 'n' });
    const { body: _, ...withoutBody } = delivery;
    assert.deepEqual(deliveries, [withoutBody]);
    assert.equal(await reasonOf(client.getDelivery({ notificationId: 'n', deliveryId: 'x' })), 'DELIVERY_NOT_FOUND');
    assert.equal(await reasonOf(client.getDelivery({ notificationId: 'other', deliveryId: 'e' })), 'DELIVERY_NOT_FOUND');
    assert.equal(await reasonOf(client.getDelivery({ notificationId: 'x', deliveryId: 'e' })), 'NOTIFICATION_NOT_FOUND');
  });

  it("notifications: a list of a transaction's deliveries has no others, and its pages continue with its own tokens only", async (test) => {
    const { client, store, reasonOf } = await startClient(test);
    for (const id of ['n', 'other']) await client.createNotification({ id, url });
    const statuses = ['delivered', 'dead', 'pending', 'delivered', 'pending'] as const;
    await store.commit(
      statuses.flatMap((status, index) => [
        store.change.insertEvent(anEvent({ id: `mine-${index}`, notificationId: 'n', orderKey: 't', status })),
        store.change.insertEvent(anEvent({ id: `theirs-${index}`, notificationId: 'n', orderKey: 'u', status })),
        store.change.insertEvent(anEvent({ id: `elsewhere-${index}`, notificationId: 'other', orderKey: 't', status })),
      ]),
    );
    // Their order keys are no transactions.
    await store.commit([
      store.change.insertEvent(anEvent({ id: 'test', notificationId: 'n', event: 'test', orderKey: 't', status: 'delivered' })),
      store.change.insertEvent(anEvent({ id: 'state', notificationId: 'n', event: 'relayer_state_update', orderKey: 'relayer:r1' })),
    ]);
    const ofTransaction = { notificationId: 'n', transactionId: 't' };
    const whole = await client.listDeliveries(ofTransaction);
    const newestFirst = ['mine-4', 'mine-3', 'mine-2', 'mine-1', 'mine-0'];
    assert.deepEqual(
      whole.deliveries.map(({ id }) => id),
      newestFirst,
    );
    assert.equal(whole.pagination?.totalItems, 5n);
    const byPage = await client.listDeliveries({ ...ofTransaction, page: 2, perPage: 2 });
    assert.deepEqual(
      byPage.deliveries.map(({ id }) => id),
      ['mine-2', 'mine-1'],
    );
    const seen: string[] = [];
    for (let pageToken = ''; ; ) {
      const { deliveries, nextPageToken } = await client.listDeliveries({ ...ofTransaction, pageSize: 2, pageToken });
      seen.push(...deliveries.map(({ id }) => id));
      if (nextPageToken === '') break;
      pageToken = nextPageToken;
    }
    assert.deepEqual(seen, newestFirst);
    const { nextPageToken } = await client.listDeliveries({ notificationId: 'n', transactionId: 'u', pageSize: 2 });
    for (const transactionId of ['t', 'relayer:r1', ''])
      assert.equal(
        await reasonOf(client.listDeliveries({ notificationId: 'n', transactionId, pageToken: nextPageToken })),
        'FIELD_INVALID',
      );
    for (const transactionId of ['relayer:r1', 'unknown', ''])
      assert.deepEqual((await client.listDeliveries({ notificationId: 'n', transactionId })).deliveries, [], transactionId);
  });
});
