import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { it } from 'node:test';
import { followFile } from '../../../src/core/notification/follow-file.js';
import type { Store } from '../../../src/core/ports/store/store.js';
import { systemClock } from '../../../src/core/work/clock.js';
import { openStore } from '../../../src/storage/open-store.js';
import { createSecretBox } from '../../../src/storage/secret-box.js';
import { aNotification, silentLog } from '../../support/stored-samples.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

const url = 'https://hooks.acme.com/';
const asSaid = { warnings: [], without: [] };

it('configuration file: a replaced key keeps signing, a removed one does not, and a change resumes deliveries to a gone receiver', async (test) => {
  const { store } = await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silentLog });
  test.after(() => store.close());
  const secretBox = createSecretBox(randomBytes(32).toString('base64'));
  const follow = (signingKey: string | null) =>
    followFile({ store, secretBox, clock: systemClock }, [{ id: 'hook', url, signingKey }], [{ id: 'r1', notificationId: 'hook' }]);
  const stored = async () => (await store.read.notification('hook')) ?? assert.fail('it is gone');
  const open = (sealed: string | null) => sealed && secretBox.open(sealed, 'notification:hook');

  assert.deepEqual(await follow('one'), asSaid);
  await store.commit([store.change.markNotificationGone(await stored(), 5)]);
  assert.deepEqual(await follow('one'), asSaid, 'what a receiver answers is no change by API');
  assert.equal((await stored()).goneAtMs, 5);

  assert.deepEqual(await follow('two'), asSaid);
  const { sealedSigningKey, retiredKeys, goneAtMs } = await stored();
  assert.deepEqual([open(sealedSigningKey), retiredKeys.map((key) => open(key.sealedSigningKey)), goneAtMs], ['two', ['one'], null]);

  assert.deepEqual(await follow(null), asSaid);
  assert.deepEqual([(await stored()).sealedSigningKey, (await stored()).retiredKeys], [null, []]);
});

it('configuration file: of two instances that start at the same time, the later one finds what the other wrote', async (test) => {
  const { store } = await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silentLog });
  test.after(() => store.close());
  const secretBox = createSecretBox(randomBytes(32).toString('base64'));
  const wanted = [{ id: 'hook', url, signingKey: 'one' }];
  const follow = (on: Store) => followFile({ store: on, secretBox, clock: systemClock }, wanted, [{ id: 'r1', notificationId: 'hook' }]);
  let commits = 0;
  const overtaken: Store = {
    ...store,
    async commit(changes) {
      commits += 1;
      if (commits === 1) await follow(store);
      return store.commit(changes);
    },
  };
  assert.deepEqual(await follow(overtaken), asSaid);
  assert.deepEqual([commits, (await store.read.notification('hook'))?.revision], [1, 1]);
});

it('configuration file: a relayer does not use a notification that a key made for other relayers, whose receiver would get its events', async (test) => {
  const { store } = await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silentLog });
  test.after(() => store.close());
  const secretBox = createSecretBox(randomBytes(32).toString('base64'));
  await store.commit([store.change.insertNotification(aNotification({ id: 'hook', relayerIds: ['other'] }))]);
  const users = [
    { id: 'r1', notificationId: 'hook' },
    { id: 'other', notificationId: 'hook' },
    { id: 'r2', notificationId: null },
  ];
  const { warnings, without } = await followFile({ store, secretBox, clock: systemClock }, [{ id: 'hook', url, signingKey: null }], users);
  assert.deepEqual(without, ['r1']);
  assert.match(warnings[0] ?? '', /was created by the API/);
});
