import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { createAuthenticate, isBootstrap } from '../../../src/core/access/authenticate.js';
import { type ApiKey, eachSecretOf, keyDigest, keyIdOf, newKeyText, principalFromApiKey } from '../../../src/core/records/api-key.js';
import { systemClock } from '../../../src/core/work/clock.js';

const bootstrapKey = 'a bootstrap key of 32 characters';
const nextBootstrapKey = 'another bootstrap key, which is new';
const bootstrap = { apiKey: bootstrapKey, apiKeyNext: nextBootstrapKey };
const id = '0193a7c2-5a4e-7c3b-8f21-3d5c9b1e7a60';
const noKeys = { find: () => [] };

function withKey(text: string, over: Partial<ApiKey>, nowMs = 1_000, noteUse = () => {}) {
  const key: ApiKey = {
    id,
    name: 'shop',
    scopes: ['sign'],
    relayerIds: [],
    digest: keyDigest(text),
    formerSecrets: [],
    createdAtMs: 0,
    expiresAtMs: null,
    createdBy: null,
    adoptedBy: null,
    allowedAddresses: [],
    lastUsedAtMs: null,
    ...over,
  };
  const held = eachSecretOf(key).map((secret) => ({ digest: secret.digest, principal: principalFromApiKey(secret, null), noteUse }));
  const find = (wanted: string) => (wanted === id ? held : []);
  return createAuthenticate({ bootstrap, keys: { find }, clock: { ...systemClock, nowMs: () => nowMs } });
}

test('authenticate: the bootstrap key has every scope and every relayer', () => {
  const principal = createAuthenticate({ bootstrap, keys: noKeys, clock: systemClock })(bootstrapKey);
  assert.equal(principal?.keyId, 'bootstrap');
  assert.equal(principal?.relayers, null);
  assert.deepEqual([...(principal?.scopes ?? [])].sort(), [
    'admin',
    'audit:read',
    'notifications',
    'plugins:call',
    'sign',
    'transactions:approve',
    'transactions:read',
    'transactions:write',
  ]);
});

test('authenticate: the next bootstrap key has the same rights and id, by its own name, and none is no key', () => {
  const principalOf = (apiKeyNext: string | null, token: string) =>
    createAuthenticate({ bootstrap: { ...bootstrap, apiKeyNext }, keys: noKeys, clock: systemClock })(token);
  const [now, next] = [principalOf(nextBootstrapKey, bootstrapKey), principalOf(nextBootstrapKey, nextBootstrapKey)];
  assert.ok(now !== undefined && next !== undefined);
  assert.deepEqual({ ...next, name: 'bootstrap' }, now);
  assert.equal(next.name, 'bootstrap next');
  assert.ok(isBootstrap(now) && isBootstrap(next));
  for (const token of [nextBootstrapKey, '', 'null']) assert.equal(principalOf(null, token), undefined);
});

test('authenticate: rejects any other token', () => {
  const authenticate = createAuthenticate({ bootstrap, keys: noKeys, clock: systemClock });
  for (const token of ['', 'a', bootstrapKey.slice(0, -1), `${bootstrapKey} `, bootstrapKey.toUpperCase(), 'x'.repeat(100_000), '\ud800']) {
    assert.equal(authenticate(token), undefined);
  }
});

test('authenticate: accepts a stored key by its whole text only', () => {
  const text = newKeyText(id);
  assert.match(text, /^rk_0193a7c25a4e7c3b8f213d5c9b1e7a60_[A-Za-z0-9_-]{43}$/);
  assert.equal(keyIdOf(text), id);
  let uses = 0;
  const authenticate = withKey(text, { relayerIds: ['r1'] }, 1_000, () => {
    uses += 1;
  });
  assert.deepEqual(authenticate(text), {
    keyId: id,
    name: 'shop',
    scopes: new Set(['sign']),
    relayers: new Set(['r1']),
    addresses: null,
    digest: keyDigest(text),
    expiresAtMs: null,
    ended: null,
  });
  assert.equal(authenticate(bootstrapKey)?.keyId, 'bootstrap');
  const other = newKeyText('0193a7c2-5a4e-7c3b-8f21-3d5c9b1e7a61');
  for (const token of [newKeyText(id), `${text}A`, text.slice(0, -1), text.toUpperCase(), other, id])
    assert.equal(authenticate(token), undefined);
  assert.equal(uses, 1, 'a wrong key is no use');
});

test('authenticate: accepts a key until it expires', () => {
  const text = newKeyText(id);
  assert.equal(withKey(text, { expiresAtMs: 1_000 }, 999)(text)?.keyId, id);
  assert.equal(withKey(text, { expiresAtMs: 1_000 }, 1_000, () => assert.fail('an expired key is not used'))(text), undefined);
  const unreadable = withKey(text, { allowedAddresses: ['no address'] })(text);
  assert.equal(unreadable?.addresses?.includes('127.0.0.1'), false, 'a stored list that is none allows no address');
});

test('authenticate: accepts each former secret until it ends, with the same rights and a name that says so', () => {
  const [newest, second, first] = [newKeyText(id), newKeyText(id), newKeyText(id)];
  const over = {
    expiresAtMs: 3_000,
    formerSecrets: [
      { digest: keyDigest(second), validUntilMs: 4_000 },
      { digest: keyDigest(first), validUntilMs: 2_000 },
    ],
  };
  for (const [nowMs, valid] of [
    [1_999, [newest, second, first]],
    [2_000, [newest, second]],
    [3_000, []],
  ] as const) {
    const authenticate = withKey(newest, over, nowMs);
    assert.deepEqual(
      [newest, second, first].filter((text) => authenticate(text) !== undefined),
      valid,
      String(nowMs),
    );
  }
  const authenticate = withKey(newest, over);
  const now = authenticate(newest) ?? assert.fail();
  assert.deepEqual(authenticate(second), { ...now, digest: keyDigest(second), name: 'shop (former secret)' }, 'no secret outlives its key');
  assert.deepEqual(authenticate(first), { ...now, digest: keyDigest(first), name: 'shop (former secret)', expiresAtMs: 2_000 });
});

test('authenticate: a principal does not contain its key', () => {
  const principal = createAuthenticate({ bootstrap, keys: noKeys, clock: systemClock })(bootstrapKey);
  assert.ok(!inspect(principal, { depth: null }).includes(bootstrapKey));
});
