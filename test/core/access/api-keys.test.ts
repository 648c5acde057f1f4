import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createApiKey, deleteApiKey, listApiKeys, type NewApiKey } from '../../../src/core/access/api-keys.js';
import { createKeyRing } from '../../../src/core/access/key-ring.js';
import { DomainError } from '../../../src/core/errors/errors.js';
import { type ApiKey, principalFromApiKey } from '../../../src/core/records/api-key.js';
import { systemIds } from '../../../src/core/records/ids.js';
import type { Principal } from '../../../src/core/records/principal.js';
import { backgroundTimers } from '../../../src/core/work/timers.js';
import { openStore } from '../../../src/storage/open-store.js';
import { anApiKey, silentLog } from '../../support/stored-samples.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

const nowMs = Date.parse('2026-01-01T00:00:00Z');
const wanted: NewApiKey = { name: 'shop', scopes: ['sign'], relayerIds: [], expiresAtMs: null, allowedAddresses: [] };

async function openDeps(test: TestContext) {
  const { store } = await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silentLog });
  const keys = createKeyRing({
    store,
    clock: { nowMs: () => nowMs, elapsedMs: () => 0 },
    timers: backgroundTimers,
    staleAfterMs: 30_000,
    log: silentLog,
  });
  await keys.start();
  test.after(async () => {
    await keys.stop();
    await store.close();
  });
  return { store, keys, clock: { nowMs: () => nowMs }, ids: systemIds };
}

/** The caller whose key has these properties. */
function caller(over: Partial<ApiKey>): Principal {
  return principalFromApiKey(
    { id: 'k', digest: '', createdAtMs: 0, createdBy: null, lastUsedAtMs: null, ...wanted, scopes: ['admin'], ...over },
    null,
  );
}

async function reasonOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    if (error instanceof DomainError) return `${error.kind} ${error.reason} ${error.fields.map(({ field }) => field).join()}`.trim();
    throw error;
  }
  return 'none';
}

describe('creating a key', () => {
  it('create: returns the text once, stores its digest, and adds the key to the ring at once', async (test) => {
    const deps = await openDeps(test);
    const { apiKey, text } = await createApiKey(deps, { ...wanted, scopes: ['sign', 'sign'], relayerIds: ['a', 'a'] }, null);
    assert.deepEqual([apiKey.scopes, apiKey.relayerIds], [['sign'], ['a']]);
    assert.deepEqual(await deps.store.read.apiKeys(), [apiKey]);
    assert.equal(deps.keys.find(apiKey.id)?.principal.name, 'shop');
    assert.ok(!JSON.stringify(apiKey).includes(text.slice(-43)));
  });

  for (const [what, over, field] of [
    ['no name', { name: '' }, 'name'],
    ['a name of two lines', { name: 'a\nb' }, 'name'],
    ['101 characters of name', { name: 'x'.repeat(101) }, 'name'],
    ['no scope', { scopes: [] }, 'scopes'],
    ['what cannot be a relayer', { relayerIds: ['ok', 'not ok'] }, 'relayer_ids[1]'],
    ['too many relayers', { relayerIds: Array.from({ length: 1_001 }, (_, index) => `r${index}`) }, 'relayer_ids'],
    ['admin together with a list of relayers', { scopes: ['sign', 'admin'], relayerIds: ['a'] }, 'scopes'],
    ['an expiry that is now', { expiresAtMs: nowMs }, 'expires_at'],
    ['an expiry that no calendar has', { expiresAtMs: 8.64e15 }, 'expires_at'],
  ] as const) {
    it(`create: rejects ${what} and stores nothing`, async (test) => {
      const deps = await openDeps(test);
      assert.equal(await reasonOf(createApiKey(deps, { ...wanted, ...over }, null)), `invalid FIELD_INVALID ${field}`);
      assert.deepEqual(await deps.store.read.apiKeys(), []);
    });
  }

  for (const [what, giver, over, reason] of [
    ['a scope that the giver has', { scopes: ['admin', 'sign'] }, {}, 'none'],
    ['a scope that the giver lacks', { scopes: ['admin'] }, {}, 'forbidden SCOPE_MISSING'],
    ['some relayers, of one for all', { scopes: ['admin', 'sign'] }, { relayerIds: ['b'] }, 'none'],
    [
      'a longer life',
      { scopes: ['admin', 'sign'], expiresAtMs: nowMs + 9 },
      { expiresAtMs: nowMs + 10 },
      'invalid FIELD_INVALID expires_at',
    ],
    ['a life without end', { scopes: ['admin', 'sign'], expiresAtMs: nowMs + 9 }, {}, 'invalid FIELD_INVALID expires_at'],
    ['as long a life', { scopes: ['admin', 'sign'], expiresAtMs: nowMs + 9 }, { expiresAtMs: nowMs + 9 }, 'none'],
  ] as const) {
    it(`create: a key cannot grant more than it has: ${what}`, async (test) => {
      const deps = await openDeps(test);
      await deps.store.commit([deps.store.change.insertApiKey(anApiKey({ id: 'k' }))]);
      assert.equal(await reasonOf(createApiKey(deps, { ...wanted, ...over }, caller(giver))), reason);
    });

    it(`create: a key that was revoked meanwhile creates none: ${what}`, async (test) => {
      const deps = await openDeps(test);
      const expected = reason === 'none' ? 'unauthenticated CREDENTIALS_INVALID' : reason;
      assert.equal(await reasonOf(createApiKey(deps, { ...wanted, ...over }, caller(giver))), expected);
      assert.deepEqual(await deps.store.read.apiKeys(), []);
    });
  }
});

describe('managing keys', () => {
  it('list: newest first', async (test) => {
    const deps = await openDeps(test);
    for (const name of ['one', 'two', 'three']) await createApiKey(deps, { ...wanted, name }, null);
    assert.deepEqual(
      (await listApiKeys(deps)).map(({ name }) => name),
      ['three', 'two', 'one'],
    );
  });

  it('delete: revokes the key at once; a second delete fails', async (test) => {
    const deps = await openDeps(test);
    const { apiKey } = await createApiKey(deps, wanted, null);
    await deleteApiKey(deps, apiKey.id);
    assert.equal(deps.keys.find(apiKey.id), undefined);
    assert.equal(await reasonOf(deleteApiKey(deps, apiKey.id)), 'not_found API_KEY_NOT_FOUND');
    assert.equal(await reasonOf(deleteApiKey(deps, 'bootstrap')), 'not_found API_KEY_NOT_FOUND');
  });

  it('a stored key with admin and a list of relayers acts without admin', () => {
    const { scopes, relayers } = caller({ scopes: ['sign', 'admin'], relayerIds: ['a'] });
    assert.deepEqual([[...scopes], [...(relayers ?? [])]], [['sign'], ['a']]);
    assert.deepEqual([...caller({ scopes: ['sign', 'admin'] }).scopes], ['sign', 'admin']);
  });
});
