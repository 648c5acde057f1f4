import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createKeyRing } from '../../../src/core/access/key-ring.js';
import type { ApiKey } from '../../../src/core/records/api-key.js';
import { systemClock } from '../../../src/core/work/clock.js';
import { silentLog } from '../../support/stored-samples.js';

function aKey(id: string): ApiKey {
  return { id, name: id, scopes: ['sign'], relayerIds: [], digest: 'ab'.repeat(32), createdAtMs: 0, expiresAtMs: null };
}

test('key ring: a key deleted during a read does not come back with its result', async (test) => {
  let answer: (keys: readonly ApiKey[]) => void = () => assert.fail('nobody reads');
  let reads = 0;
  const apiKeys = () => {
    reads += 1;
    return new Promise<readonly ApiKey[]>((resolve) => {
      answer = resolve;
    });
  };
  const ring = createKeyRing({ store: { read: { apiKeys } }, clock: systemClock, log: silentLog });
  test.after(() => ring.stop());
  const started = ring.start();
  ring.remove('gone');
  ring.add(aKey('new'));
  answer([aKey('gone')]);
  // The keys that were read are older than the change, so the ring reads again.
  while (reads < 2) await Promise.resolve();
  answer([aKey('new')]);
  await started;
  assert.deepEqual(
    ['gone', 'new'].map((id) => ring.find(id)?.principal.keyId),
    [undefined, 'new'],
  );
});

test('key ring: removing a key ends its streams and no others', async (test) => {
  const ring = createKeyRing({ store: { read: { apiKeys: async () => [aKey('one'), aKey('two')] } }, clock: systemClock, log: silentLog });
  test.after(() => ring.stop());
  await ring.start();
  const [one, two] = ['one', 'two'].map((id) => ring.find(id)?.principal.ended);
  ring.remove('one');
  assert.deepEqual([one?.aborted, two?.aborted], [true, false]);
});

test('key ring: start fails if the store cannot be read', async () => {
  const apiKeys = () => Promise.reject(new Error('no disk'));
  await assert.rejects(createKeyRing({ store: { read: { apiKeys } }, clock: systemClock, log: silentLog }).start(), /no disk/);
});
