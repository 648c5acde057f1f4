import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { createFingerprint, databaseSecretPurpose, openDatabaseSecret } from '../../src/core/access/database-secret.js';
import { createIdempotency } from '../../src/core/access/idempotency.js';
import { rotateEncryptionKey } from '../../src/core/access/rotate-encryption-key.js';
import { urlPurpose } from '../../src/core/notification/sealed-urls.js';
import { signingKeyPurpose } from '../../src/core/notification/signing-key.js';
import type { SecretBox } from '../../src/core/ports/secret-box.js';
import { openStore } from '../../src/storage/open-store.js';
import { createSecretBox } from '../../src/storage/secret-box.js';
import { aNotification, aStoredResponse, silentLog } from '../support/stored-samples.js';

const newBox = () => createSecretBox(randomBytes(32).toString('base64'));

/** The behavior of every store when the encryption key is rotated. */
export function rotationContract(name: string, newDatabaseUrl: () => Promise<string>): void {
  describe(`${name}: rotation of the encryption key`, () => {
    test('seals every secret with the new key in one commit, and changes nothing the second time', async () => {
      const { store } = await openStore(await newDatabaseUrl(), { log: silentLog });
      try {
        const { change, read } = store;
        const [from, to] = [newBox(), newBox()];
        const ids = Array.from({ length: 120 }, (_, number) => `hook-${number}`);
        const sealedOf = (id: string, text: string) => from.seal(text, signingKeyPurpose(id));
        const sealedUrl = (id: string) => from.seal(`https://example.com/${id}`, urlPurpose(id));
        const notifications = ids.map((id) =>
          aNotification({
            id,
            url: sealedUrl(id),
            revision: 3,
            goneAtMs: 5,
            sealedSigningKey: sealedOf(id, `key of ${id}`),
            retiredKeys: [1, 2].map((retiredAtMs) => ({ sealedSigningKey: sealedOf(id, `old ${retiredAtMs}`), retiredAtMs })),
          }),
        );
        const definition = { kind: 'signer', id: 'made', content: { type: 'local' }, sealed: from.seal('secret', 'signer:made') } as const;
        const plain = { kind: 'relayer', id: 'plain', content: null, sealed: null } as const;
        await store.commit([
          ...[...notifications, aNotification({ id: 'unsigned', url: sealedUrl('unsigned') })].map((notification) =>
            change.insertNotification(notification),
          ),
          change.putDefinition(definition),
          change.putDefinition(plain),
        ]);

        assert.deepEqual(await rotateEncryptionKey({ store, from, to }), { kind: 'rotated', secrets: 482 });

        const { items } = await read.notifications({ offset: 0, limit: 200 });
        assert.equal(items.length, 121);
        for (const [index, id] of ids.entries()) {
          const found = items.find((notification) => notification.id === id);
          assert.ok(found?.sealedSigningKey);
          assert.equal(to.open(found.url, urlPurpose(id)), `https://example.com/${id}`);
          assert.equal(to.open(found.sealedSigningKey, signingKeyPurpose(id)), `key of ${id}`);
          assert.deepEqual(
            found.retiredKeys.map((key) => [to.open(key.sealedSigningKey, signingKeyPurpose(id)), key.retiredAtMs]),
            [
              ['old 1', 1],
              ['old 2', 2],
            ],
          );
          for (const { sealedSigningKey } of [found, ...found.retiredKeys]) {
            assert.throws(() => from.open(sealedSigningKey ?? '', signingKeyPurpose(id)), /with another key/);
          }
          const secrets = { url: '', sealedSigningKey: null, retiredKeys: [] };
          assert.deepEqual({ ...found, ...secrets }, { ...(notifications[index] ?? found), ...secrets });
        }
        const [signer] = await read.definitions('signer');
        assert.equal(to.open(signer?.sealed ?? '', 'signer:made'), 'secret');
        assert.throws(() => from.open(signer?.sealed ?? '', 'signer:made'));
        assert.deepEqual(await read.definitions('relayer'), [plain]);

        assert.deepEqual(await rotateEncryptionKey({ store, from, to }), { kind: 'done_before', secrets: 482 });
      } finally {
        await store.close();
      }
    });

    test('changes nothing if the old key does not open every secret, and names the owners', async () => {
      const { store } = await openStore(await newDatabaseUrl(), { log: silentLog });
      try {
        const [from, to, stranger] = [newBox(), newBox(), newBox()];
        const mine = aNotification({
          id: 'mine',
          url: from.seal('https://a.example', urlPurpose('mine')),
          sealedSigningKey: from.seal('a', signingKeyPurpose('mine')),
        });
        const theirs = aNotification({
          id: 'theirs',
          url: from.seal('https://b.example', urlPurpose('theirs')),
          sealedSigningKey: stranger.seal('b', signingKeyPurpose('theirs')),
        });
        const swapped = { kind: 'network', id: 'n', content: {}, sealed: from.seal('[]', 'network:other') } as const;
        await store.commit([
          store.change.insertNotification(mine),
          store.change.insertNotification(theirs),
          store.change.putDefinition(swapped),
        ]);
        assert.deepEqual(await rotateEncryptionKey({ store, from, to }), {
          kind: 'not_opened',
          owners: ['notification theirs', 'network n'],
        });
        assert.deepEqual(await store.read.notification('mine'), mine);
      } finally {
        await store.close();
      }
    });

    test('keeps the fingerprints of stored responses comparable', async () => {
      const { store } = await openStore(await newDatabaseUrl(), { log: silentLog });
      try {
        const [from, to] = [newBox(), newBox()];
        const fingerprintUnder = async (secretBox: SecretBox, text: string) => {
          const secret = await openDatabaseSecret({ store, secretBox });
          return createFingerprint(secret ?? assert.fail('the key does not open the database secret'))(Buffer.from(text));
        };
        const response = aStoredResponse({ fingerprint: await fingerprintUnder(from, 'payload') });
        await store.commit([store.change.putStoredResponse(response, 0)]);
        assert.deepEqual(await rotateEncryptionKey({ store, from, to }), { kind: 'rotated', secrets: 1 });
        const { begin } = createIdempotency({ store, clock: { nowMs: () => 0, startOfLifeMs: () => 0 } });
        assert.deepEqual((await begin(response, await fingerprintUnder(to, 'payload'))).replay, response.response);
        await assert.rejects(begin(response, await fingerprintUnder(to, 'another')), { reason: 'IDEMPOTENCY_KEY_REUSED' });
      } finally {
        await store.close();
      }
    });

    test('a database refuses any encryption key other than the one that it was first started with', async () => {
      const { store } = await openStore(await newDatabaseUrl(), { log: silentLog });
      try {
        const [first, second, third] = [newBox(), newBox(), newBox()];
        const secret = await openDatabaseSecret({ store, secretBox: first });
        assert.equal(secret?.length, 32);
        assert.equal(await openDatabaseSecret({ store, secretBox: second }), null);
        assert.deepEqual(await rotateEncryptionKey({ store, from: second, to: third }), { kind: 'not_opened', owners: ['the database'] });
        assert.deepEqual(await rotateEncryptionKey({ store, from: first, to: second }), { kind: 'rotated', secrets: 1 });
        assert.equal(await openDatabaseSecret({ store, secretBox: first }), null);
        assert.deepEqual(await openDatabaseSecret({ store, secretBox: second }), secret);
        const otherSecret = second.seal('another', databaseSecretPurpose);
        await assert.rejects(store.commit([store.change.insertDatabaseSecret(otherSecret)]), { change: 'insertDatabaseSecret' });
      } finally {
        await store.close();
      }
    });
  });
}
