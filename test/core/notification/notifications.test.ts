import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { DomainError, type ErrorKind, type ErrorReason } from '../../../src/core/errors/errors.js';
import {
  createNotification,
  deleteNotification,
  getNotification,
  listNotifications,
  updateNotification,
} from '../../../src/core/notification/notifications.js';
import { systemIds } from '../../../src/core/records/ids.js';
import { systemClock } from '../../../src/core/work/clock.js';
import { openStore } from '../../../src/storage/open-store.js';
import { createSecretBox } from '../../../src/storage/secret-box.js';
import { definitionWriterOf } from '../../support/definition-writer-of.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const url = 'https://hooks.acme.com/relayer';
const key = 'a signing key of more than 32 characters';

async function openDeps(test: TestContext, users: readonly string[] = []) {
  const { store } = await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silent });
  test.after(() => store.close());
  const secretBox = createSecretBox(randomBytes(32).toString('base64'));
  const writer = definitionWriterOf(store);
  return {
    store,
    clock: systemClock,
    ids: systemIds,
    secretBox,
    allowPrivateTargets: false,
    relayersUsing: () => users,
    exclusively: writer.exclusively,
    writer,
  };
}

function failure(kind: ErrorKind, reason: ErrorReason, fixedText?: string): (error: unknown) => boolean {
  return (error) => {
    assert(error instanceof DomainError);
    assert.deepEqual([error.kind, error.reason, error.fixedText], [kind, reason, fixedText]);
    return true;
  };
}

const notFound = failure('not_found', 'NOTIFICATION_NOT_FOUND', 'Notification not found');

describe('creating a notification', () => {
  it('create: stores the notification with its key sealed for it only', async (test) => {
    const deps = await openDeps(test);
    const { notification, warnings } = await createNotification(deps, { id: 'n-1', url, signingKey: key });
    assert.deepEqual(warnings, []);
    assert.deepEqual(await getNotification(deps, 'n-1'), notification);
    assert.equal(notification.url, url);
    const sealed = notification.sealedSigningKey ?? '';
    assert.doesNotMatch(sealed, /signing/);
    assert.equal(deps.secretBox.open(sealed, 'notification:n-1'), key);
    assert.throws(() => deps.secretBox.open(sealed, 'notification:n-2'));
  });

  it('create: generates a UUID without an id, and stores no key for an empty one', async (test) => {
    const deps = await openDeps(test);
    const { notification } = await createNotification(deps, { id: undefined, url, signingKey: '' });
    assert.match(notification.id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.equal(notification.sealedSigningKey, null);
  });

  it('create: warns about a short key', async (test) => {
    const { warnings } = await createNotification(await openDeps(test), { id: undefined, url, signingKey: 'short' });
    assert.equal(warnings.length, 1);
  });

  it('create: rejects a taken id and keeps the first notification', async (test) => {
    const deps = await openDeps(test);
    const { notification } = await createNotification(deps, { id: 'taken', url, signingKey: undefined });
    await assert.rejects(
      createNotification(deps, { id: 'taken', url: 'https://other.acme.com/', signingKey: key }),
      failure('already_exists', 'NOTIFICATION_EXISTS', 'Notification with this ID already exists'),
    );
    assert.deepEqual(await getNotification(deps, 'taken'), notification);
  });

  for (const [what, wanted, reason] of [
    ['an empty id', { id: '', url, signingKey: undefined }, 'FIELD_INVALID'],
    ['37 characters of id', { id: 'x'.repeat(37), url, signingKey: undefined }, 'FIELD_INVALID'],
    ['a dot in the id', { id: 'a.b', url, signingKey: undefined }, 'FIELD_INVALID'],
    ['a line end after the id', { id: 'ab\n', url, signingKey: undefined }, 'FIELD_INVALID'],
    ['no url', { id: undefined, url: '', signingKey: undefined }, 'FIELD_INVALID'],
    ['a private url', { id: undefined, url: 'http://10.1/', signingKey: undefined }, 'WEBHOOK_TARGET_REFUSED'],
    ['a key that is too long', { id: undefined, url, signingKey: 'x'.repeat(8193) }, 'FIELD_INVALID'],
  ] as const) {
    it(`create: rejects ${what} and stores nothing`, async (test) => {
      const deps = await openDeps(test);
      await assert.rejects(createNotification(deps, wanted), failure('invalid', reason));
      assert.equal((await listNotifications(deps, { offset: 0, limit: 10 })).total, 0);
    });
  }
});

describe('updating a notification', () => {
  it('update: keeps absent fields, removes an empty key, sets the rest', async (test) => {
    const deps = await openDeps(test);
    const { notification: first } = await createNotification(deps, { id: 'n', url, signingKey: key });
    const nothing = await updateNotification(deps, { id: 'n', url: undefined, signingKey: undefined });
    assert.deepEqual(nothing, { notification: first, warnings: [] });

    const moved = await updateNotification(deps, { id: 'n', url: 'https://new.acme.com/', signingKey: undefined });
    assert.deepEqual(moved.notification, { ...first, url: 'https://new.acme.com/', revision: first.revision + 1 });

    const rekeyed = await updateNotification(deps, { id: 'n', url: undefined, signingKey: 'short' });
    assert.equal(rekeyed.warnings.length, 1);
    assert.equal(deps.secretBox.open(rekeyed.notification.sealedSigningKey ?? '', 'notification:n'), 'short');

    const unsigned = await updateNotification(deps, { id: 'n', url: undefined, signingKey: '' });
    assert.equal(unsigned.notification.sealedSigningKey, null);
    assert.equal(unsigned.notification.url, 'https://new.acme.com/');
    assert.deepEqual(await getNotification(deps, 'n'), unsigned.notification);
  });

  it('update: loses none of many concurrent updates', async (test) => {
    const deps = await openDeps(test);
    await createNotification(deps, { id: 'n', url, signingKey: undefined });
    const urls = Array.from({ length: 10 }, (_, index) => `https://hooks.acme.com/${index}`);
    await Promise.all([
      ...urls.map((wanted) => updateNotification(deps, { id: 'n', url: wanted, signingKey: undefined })),
      updateNotification(deps, { id: 'n', url: undefined, signingKey: key }),
    ]);
    const stored = await getNotification(deps, 'n');
    assert.equal(stored.revision, 12);
    assert.ok(urls.includes(stored.url));
    assert.equal(deps.secretBox.open(stored.sealedSigningKey ?? '', 'notification:n'), key);
  });

  it('update: rejects what create rejects, and an unknown id', async (test) => {
    const deps = await openDeps(test);
    await createNotification(deps, { id: 'n', url, signingKey: undefined });
    const update = (change: object) => updateNotification(deps, { id: 'n', url: undefined, signingKey: undefined, ...change });
    await assert.rejects(update({ url: '' }), failure('invalid', 'FIELD_INVALID'));
    await assert.rejects(update({ url: 'http://localhost/' }), failure('invalid', 'WEBHOOK_TARGET_REFUSED'));
    await assert.rejects(update({ signingKey: 'x'.repeat(8193) }), failure('invalid', 'FIELD_INVALID'));
    await assert.rejects(update({ id: 'other' }), notFound);
  });
});

describe('reading notifications', () => {
  it('list: newest first; a page past the end has only the total', async (test) => {
    const deps = await openDeps(test);
    for (const id of ['a', 'b', 'c']) await createNotification(deps, { id, url, signingKey: undefined });
    const idsOf = async (offset: number, limit: number) => {
      const { items, total } = await listNotifications(deps, { offset, limit });
      return [items.map(({ id }) => id), total];
    };
    assert.deepEqual(await idsOf(0, 2), [['c', 'b'], 3]);
    assert.deepEqual(await idsOf(2, 2), [['a'], 3]);
    assert.deepEqual(await idsOf(4, 2), [[], 3]);
  });

  for (const id of ['unknown', '', 'a.b', 'nul\0', '💥'.repeat(100)]) {
    it(`get: finds nothing for ${JSON.stringify(id.slice(0, 10))} and echoes at most 64 characters`, async (test) => {
      await assert.rejects(getNotification(await openDeps(test), id), (error: unknown) => {
        assert(error instanceof DomainError);
        assert.equal(error.message, `Notification with ID ${Array.from(id).slice(0, 64).join('')} not found`);
        return notFound(error);
      });
    });
  }
});

describe('deleting a notification', () => {
  it('delete: succeeds once', async (test) => {
    const deps = await openDeps(test);
    await createNotification(deps, { id: 'n', url, signingKey: undefined });
    await deleteNotification(deps, 'n');
    await assert.rejects(getNotification(deps, 'n'), notFound);
    await assert.rejects(deleteNotification(deps, 'n'), notFound);
  });

  it('delete: fails while relayers use the notification, and names them', async (test) => {
    const deps = await openDeps(test, ['sepolia-1', 'sepolia-2']);
    await createNotification(deps, { id: 'n', url, signingKey: undefined });
    await assert.rejects(deleteNotification(deps, 'n'), (error: unknown) => {
      assert.match(String(error), /sepolia-1, sepolia-2; set another notification_id for them first$/);
      return failure('precondition', 'NOTIFICATION_IN_USE')(error);
    });
    assert.equal((await getNotification(deps, 'n')).id, 'n');
  });

  it('delete: names the first ten of many relayers', async (test) => {
    const names = Array.from({ length: 12 }, (_, index) => `r${index}`);
    const deps = await openDeps(test, names);
    await createNotification(deps, { id: 'n', url, signingKey: undefined });
    await assert.rejects(deleteNotification(deps, 'n'), /r8, r9 and 2 more; set another notification_id for them first$/);
  });
});
