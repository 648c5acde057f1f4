import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { credentials, loadPackageDefinition, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { invalidField } from '../../../src/core/errors/errors.js';
import { type Rig, startRig, testKey } from '../../support/api-rig.js';

/** The part of a grpc-js service that these tests use. */
interface DynamicClient {
  getNotification(request: object, metadata: Metadata, done: (error: ServiceError | null, answer: unknown) => void): void;
  deleteNotification: DynamicClient['getNotification'];
  close(): void;
}

const sentence = 'must be plain: "a, b", 100 %, ü/🙂; or (c)?';
let rig: Rig;
let client: DynamicClient;
before(async () => {
  rig = await startRig({
    notifications: {
      getNotification: ({ notificationId }) => ({ notification: { id: notificationId } }),
      deleteNotification() {
        throw invalidField('notification_id', sentence);
      },
    },
  });
  const loaded = loadPackageDefinition(loadSync('relayer/v1/notification_service.proto', { includeDirs: ['proto'] }));
  const { relayer } = loaded as unknown as {
    relayer: { v1: { NotificationService: new (address: string, credentials: object) => DynamicClient } };
  };
  client = new relayer.v1.NotificationService(`127.0.0.1:${rig.port}`, credentials.createInsecure());
});
after(async () => {
  client.close();
  await rig.stop();
});

function call(method: 'getNotification' | 'deleteNotification', request: object, key = testKey): Promise<unknown> {
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${key}`);
  return new Promise((resolve, reject) => {
    client[method](request, metadata, (error, answer) => (error === null ? resolve(answer) : reject(error)));
  });
}

test('grpc-js: a call goes through', async () => {
  assert.deepEqual(await call('getNotification', { notificationId: 'n' }), { notification: { id: 'n' } });
});

test('grpc-js: reads the error of a guard with its sentence', async () => {
  await assert.rejects(call('getNotification', {}, 'wrong'), { code: status.UNAUTHENTICATED, details: 'the key is not valid' });
  const large = { notificationId: 'n'.repeat(3_000_000) };
  await assert.rejects(call('getNotification', large), {
    code: status.RESOURCE_EXHAUSTED,
    details: 'the body is larger than the limit of 65536 bytes',
  });
});

test('grpc-js: reads the error of a service letter by letter', async () => {
  await assert.rejects(call('deleteNotification', {}), { code: status.INVALID_ARGUMENT, details: `notification_id ${sentence}` });
});
