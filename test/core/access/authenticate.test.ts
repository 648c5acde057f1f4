import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { createAuthenticate } from '../../../src/core/access/authenticate.js';

const bootstrapKey = 'a bootstrap key of 32 characters';

test('the bootstrap key is the bootstrap principal: every scope, every relayer', () => {
  const principal = createAuthenticate({ bootstrapKey })(bootstrapKey);
  assert.equal(principal?.keyId, 'bootstrap');
  assert.equal(principal?.relayers, null);
  assert.deepEqual([...(principal?.scopes ?? [])].sort(), ['admin', 'notifications', 'sign', 'transactions:read', 'transactions:write']);
});

test('any other token is nobody', () => {
  const authenticate = createAuthenticate({ bootstrapKey });
  for (const token of ['', 'a', bootstrapKey.slice(0, -1), `${bootstrapKey} `, bootstrapKey.toUpperCase(), 'x'.repeat(100_000), '\ud800']) {
    assert.equal(authenticate(token), undefined);
  }
});

test('a principal does not show its key', () => {
  assert.ok(!inspect(createAuthenticate({ bootstrapKey })(bootstrapKey), { depth: null }).includes(bootstrapKey));
});
