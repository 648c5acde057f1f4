import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import {
  createApiKey,
  deleteApiKey,
  deleteApiKeyWithCreated,
  listApiKeys,
  type NewApiKey,
  rotateApiKey,
} from '../../../src/core/access/api-keys.js';
import { createAuthenticate } from '../../../src/core/access/authenticate.js';
import { createKeyRing } from '../../../src/core/access/key-ring.js';
import { DomainError } from '../../../src/core/errors/errors.js';
import { type ApiKey, eachSecretOf, keyDigest, principalFromApiKey } from '../../../src/core/records/api-key.js';
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

type Deps = Awaited<ReturnType<typeof openDeps>>;

async function insert({ store }: Pick<Deps, 'store'>, ...keys: readonly ApiKey[]): Promise<void> {
  await store.commit(keys.map((key) => store.change.insertApiKey(key)));
}

/** A caller with all rights that the tests grant. */
const giving: Partial<ApiKey> = { scopes: ['admin', 'sign'] };

/** Stores a key with these properties, and returns its caller. */
async function storedCaller(deps: Deps, over: Partial<ApiKey>): Promise<Principal> {
  const id = systemIds.timeOrdered();
  const key = anApiKey({ ...wanted, id, digest: `digest of ${id}`, ...over });
  await insert(deps, key);
  return principalFromApiKey(key, null);
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
    assert.deepEqual(apiKey, {
      id: apiKey.id,
      name: 'shop',
      scopes: ['sign'],
      relayerIds: ['a'],
      digest: keyDigest(text),
      formerSecrets: [],
      createdAtMs: nowMs,
      expiresAtMs: null,
      createdBy: null,
      adoptedBy: null,
      allowedAddresses: [],
      lastUsedAtMs: null,
    });
    assert.deepEqual(await deps.store.read.apiKeys(), [apiKey]);
    assert.equal(deps.keys.find(apiKey.id)[0]?.principal.name, 'shop');
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
    ['what is no address', { allowedAddresses: ['10.0.0.1', 'moon'] }, 'allowed_addresses[1]'],
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
    ['calls from anywhere', { ...giving, allowedAddresses: ['10.0.0.0/8'] }, {}, 'invalid FIELD_INVALID allowed_addresses'],
    ['calls from an address of its own', { ...giving, allowedAddresses: ['10.0.0.0/8'] }, { allowedAddresses: ['10.1.2.3'] }, 'none'],
    [
      'calls from an address beside its own',
      { ...giving, allowedAddresses: ['10.0.0.0/8'] },
      { allowedAddresses: ['10.1.2.3', '11.0.0.0/8'] },
      'invalid FIELD_INVALID allowed_addresses[1]',
    ],
    ['calls from some addresses, of one for all', giving, { allowedAddresses: ['11.0.0.0/8'] }, 'none'],
  ] as const) {
    it(`create: a key cannot grant more than it has: ${what}`, async (test) => {
      const deps = await openDeps(test);
      const creator = await storedCaller(deps, giver);
      assert.equal(await reasonOf(createApiKey(deps, { ...wanted, ...over }, creator)), reason);
    });
  }

  it('create: a key that was revoked or rotated meanwhile creates none, not even at an instance that does not know it yet', async (test) => {
    const deps = await openDeps(test);
    const create = (creator: Principal) => reasonOf(createApiKey(deps, wanted, creator));
    const [rotated, overlapping] = [await storedCaller(deps, giving), await storedCaller(deps, giving)];
    await rotateApiKey(deps, { id: rotated.keyId, overlapSeconds: 0 }, null);
    assert.equal(await create(rotated), 'unauthenticated CREDENTIALS_INVALID');
    await rotateApiKey(deps, { id: overlapping.keyId, overlapSeconds: 60 }, null);
    assert.equal(overlapping.expiresAtMs, null);
    assert.equal(await create(overlapping), 'invalid FIELD_INVALID expires_at', 'it ends with the overlap');
    await deleteApiKey(deps, rotated.keyId);
    assert.equal(await create(rotated), 'unauthenticated CREDENTIALS_INVALID');
    assert.equal((await deps.store.read.apiKeys()).length, 1);
  });
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
    assert.deepEqual(deps.keys.find(apiKey.id), []);
    assert.equal(await reasonOf(deleteApiKey(deps, apiKey.id)), 'not_found API_KEY_NOT_FOUND');
    assert.equal(await reasonOf(deleteApiKey(deps, 'bootstrap')), 'not_found API_KEY_NOT_FOUND');
  });

  it('a stored key with admin and a list of relayers acts without admin', () => {
    const principalOf = (over: Partial<ApiKey>) => principalFromApiKey(anApiKey({ id: 'k', ...over }), null);
    const { scopes, relayers } = principalOf({ scopes: ['sign', 'admin'], relayerIds: ['a'] });
    assert.deepEqual([[...scopes], [...(relayers ?? [])]], [['sign'], ['a']]);
    assert.deepEqual([...principalOf({ scopes: ['sign', 'admin'] }).scopes], ['sign', 'admin']);
  });
});

describe('rotating a key', () => {
  const bootstrapCaller = createAuthenticate({
    bootstrap: { apiKey: 'b', apiKeyNext: null },
    keys: { find: () => [] },
    clock: { nowMs: () => nowMs },
  })('b');
  /** The digests that are stored, newest first, with their ends. */
  const secretsOf = async ({ store }: Deps, id: string) =>
    eachSecretOf((await store.read.apiKeys()).find((one) => one.id === id) ?? assert.fail(id)).map((one) => [one.digest, one.expiresAtMs]);

  it('rotate: a new text, and nothing else of the key changes; each former one keeps its own end; 0 ends all', async (test) => {
    const deps = await openDeps(test);
    const all = { ...wanted, relayerIds: ['a'], allowedAddresses: ['10.0.0.0/8'] };
    const { apiKey, text } = await createApiKey(deps, all, null);
    const second = await rotateApiKey(deps, { id: apiKey.id, overlapSeconds: 100 }, bootstrapCaller ?? null);
    assert.notEqual(second.text, text);
    assert.deepEqual({ ...second.apiKey, digest: apiKey.digest, formerSecrets: [] }, apiKey);
    const third = await rotateApiKey(deps, { id: apiKey.id, overlapSeconds: undefined }, null);
    const former = [
      [keyDigest(second.text), nowMs + 86_400_000],
      [keyDigest(text), nowMs + 100_000],
    ];
    assert.deepEqual(await secretsOf(deps, apiKey.id), [[keyDigest(third.text), null], ...former]);
    assert.deepEqual(
      deps.keys.find(apiKey.id).map(({ digest }) => digest),
      [third.text, second.text, text].map(keyDigest),
    );
    const last = await rotateApiKey(deps, { id: apiKey.id, overlapSeconds: 0 }, null);
    assert.deepEqual(await secretsOf(deps, apiKey.id), [[keyDigest(last.text), null]]);
  });

  it('rotate: at most four former secrets are valid; ended ones do not count', async (test) => {
    const deps = await openDeps(test);
    const { id } = (await createApiKey(deps, wanted, null)).apiKey;
    for (const overlapSeconds of [60, 50, 70, 80]) await rotateApiKey(deps, { id, overlapSeconds }, null);
    const late = (ms: number) => ({ ...deps, clock: { nowMs: () => nowMs + ms } });
    const rotation = { id, overlapSeconds: 1 };
    assert.equal(await reasonOf(rotateApiKey(late(49_999), rotation, null)), 'invalid FIELD_INVALID overlap_seconds');
    assert.equal(await reasonOf(rotateApiKey(late(50_000), rotation, null)), 'none');
    assert.equal((await secretsOf(deps, id)).length, 5);
    assert.equal(await reasonOf(rotateApiKey(deps, { id, overlapSeconds: 0 }, null)), 'none');
    for (const overlapSeconds of [604_801, Number.NaN])
      assert.equal(await reasonOf(rotateApiKey(deps, { id, overlapSeconds }, null)), 'invalid FIELD_INVALID overlap_seconds');
  });

  it('rotate: rotations at the same time all count, and none loses a secret that another one kept', async (test) => {
    const deps = await openDeps(test);
    const { apiKey, text } = await createApiKey(deps, wanted, null);
    const rotations = await Promise.all(Array.from({ length: 4 }, () => rotateApiKey(deps, { id: apiKey.id, overlapSeconds: 60 }, null)));
    const digests = (await secretsOf(deps, apiKey.id)).map(([digest]) => digest);
    assert.deepEqual(new Set(digests), new Set([text, ...rotations.map((one) => one.text)].map(keyDigest)));
    assert.deepEqual(
      deps.keys.find(apiKey.id).map(({ digest }) => digest),
      digests,
    );
  });

  it('rotate: a key rotates itself and what it created, directly or not, and no other', async (test) => {
    const deps = await openDeps(test);
    await insert(
      deps,
      anApiKey({ id: 'older' }),
      anApiKey({ id: 'k', createdBy: 'bootstrap' }),
      anApiKey({ id: 'child', createdBy: 'k' }),
      anApiKey({ id: 'grandchild', createdBy: 'child' }),
      anApiKey({ id: 'adopted', createdBy: 'gone', adoptedBy: 'k' }),
      anApiKey({ id: 'taken', createdBy: 'k', adoptedBy: 'older' }),
      anApiKey({ id: 'sibling', createdBy: 'bootstrap' }),
    );
    const rotate = (id: string, by: Principal) => reasonOf(rotateApiKey(deps, { id, overlapSeconds: 60 }, by));
    const k = principalFromApiKey(anApiKey({ id: 'k' }), null);
    for (const id of ['child', 'grandchild', 'adopted']) assert.equal(await rotate(id, k), 'none', id);
    for (const id of ['older', 'taken', 'sibling']) assert.equal(await rotate(id, k), 'invalid FIELD_INVALID api_key_id', id);
    for (const id of ['gone', 'bootstrap', '']) assert.equal(await rotate(id, k), 'not_found API_KEY_NOT_FOUND', id);
    assert.equal(await rotate('k', k), 'none');
  });

  it('rotate: a former secret rotates only what ends no later than it does, also if its instance takes it for the newest', async (test) => {
    const deps = await openDeps(test);
    await insert(
      deps,
      anApiKey({ id: 'k' }),
      anApiKey({ id: 'brief', createdBy: 'k', expiresAtMs: nowMs + 60_000 }),
      anApiKey({ id: 'longer', createdBy: 'k', expiresAtMs: nowMs + 60_001 }),
      anApiKey({ id: 'endless', createdBy: 'k' }),
    );
    const k = principalFromApiKey(anApiKey({ id: 'k' }), null);
    const rotate = (id: string) => reasonOf(rotateApiKey(deps, { id, overlapSeconds: 60 }, k));
    assert.equal(await rotate('k'), 'none');
    assert.equal(await rotate('brief'), 'none');
    for (const id of ['k', 'longer', 'endless']) assert.equal(await rotate(id), 'invalid FIELD_INVALID api_key_id', id);
    await rotateApiKey(deps, { id: 'k', overlapSeconds: 0 }, null);
    for (const id of ['k', 'brief']) assert.equal(await rotate(id), 'unauthenticated CREDENTIALS_INVALID', id);
  });

  for (const [what, meanwhile] of [
    ['revoked', (deps: Deps) => deleteApiKey(deps, 'k')],
    ['rotated', (deps: Deps) => rotateApiKey(deps, { id: 'k', overlapSeconds: 0 }, null)],
  ] as const)
    it(`rotate: a key that is ${what} before the commit rotates none`, async (test) => {
      const deps = await openDeps(test);
      await insert(deps, anApiKey({ id: 'k' }), anApiKey({ id: 'child', createdBy: 'k' }));
      let isFirst = true;
      const commit: typeof deps.store.commit = async (changes) => {
        if (isFirst) {
          isFirst = false;
          await meanwhile(deps);
        }
        return deps.store.commit(changes);
      };
      const k = principalFromApiKey(anApiKey({ id: 'k' }), null);
      const rotating = rotateApiKey({ ...deps, store: { ...deps.store, commit } }, { id: 'child', overlapSeconds: 60 }, k);
      assert.equal(await reasonOf(rotating), 'unauthenticated CREDENTIALS_INVALID');
      assert.equal((await secretsOf(deps, 'child')).length, 1);
    });
});

describe('revoking what a key created', () => {
  async function withLineage(test: TestContext) {
    const deps = await openDeps(test);
    await insert(
      deps,
      anApiKey({ id: 'top', createdBy: 'bootstrap' }),
      anApiKey({ id: 'middle', createdBy: 'top' }),
      anApiKey({ id: 'leaf', createdBy: 'middle' }),
      anApiKey({ id: 'other', createdBy: 'bootstrap' }),
    );
    const left = async () => (await deps.store.read.apiKeys()).map(({ id }) => id);
    return { ...deps, left };
  }

  it('revoke: takes the whole lineage in one commit, and returns the ids, creators first', async (test) => {
    const deps = await withLineage(test);
    let commits = 0;
    const commit: typeof deps.store.commit = (changes) => {
      commits += 1;
      return deps.store.commit(changes);
    };
    assert.deepEqual(await deleteApiKeyWithCreated({ ...deps, store: { ...deps.store, commit } }, 'top'), ['top', 'middle', 'leaf']);
    assert.equal(commits, 1);
    assert.deepEqual(await deps.left(), ['other']);
    for (const id of ['top', 'bootstrap', 'unknown'])
      assert.equal(await reasonOf(deleteApiKeyWithCreated(deps, id)), 'not_found API_KEY_NOT_FOUND', id);
  });

  it('revoke: a key does not save what it created by revoking the key between', async (test) => {
    const deps = await withLineage(test);
    await deleteApiKey(deps, 'middle');
    const leaf = (await deps.store.read.apiKeys()).find(({ id }) => id === 'leaf');
    assert.deepEqual([leaf?.createdBy, leaf?.adoptedBy], ['middle', 'top']);
    assert.deepEqual(await deleteApiKeyWithCreated(deps, 'top'), ['top', 'leaf']);
    assert.deepEqual(await deps.left(), ['other']);
  });

  it('revoke: what a revoked key of the operator created can still be revoked by its id', async (test) => {
    const deps = await withLineage(test);
    await deleteApiKey(deps, 'top');
    assert.deepEqual(await deleteApiKeyWithCreated(deps, 'top'), ['middle', 'leaf']);
  });

  it('revoke: keys that are created before its commit are revoked too, and a repeated call finds them after a crash', async (test) => {
    const deps = await withLineage(test);
    const { change, commit, read } = deps.store;
    let crashes = true;
    let isFirst = true;
    const racing = {
      ...deps.store,
      async commit(...call: Parameters<typeof commit>) {
        if (isFirst) {
          isFirst = false;
          await commit([change.insertApiKey(anApiKey({ id: 'racer', createdBy: 'leaf' }))]);
          await commit([change.insertApiKey(anApiKey({ id: 'next', createdBy: 'racer' }))]);
        } else if (crashes) throw new Error('killed');
        return commit(...call);
      },
    };
    await assert.rejects(deleteApiKeyWithCreated({ ...deps, store: racing }, 'top'), /killed/);
    assert.deepEqual(await deps.left(), ['next', 'racer', 'other']);
    assert.equal((await read.apiKeys()).find(({ id }) => id === 'racer')?.adoptedBy, 'top');
    crashes = false;
    assert.deepEqual(await deleteApiKeyWithCreated({ ...deps, store: racing }, 'top'), ['racer', 'next']);
    assert.deepEqual(await deps.left(), ['other']);
  });
});
