import assert from 'node:assert/strict';
import { test } from 'node:test';
import { secretPartsOf, withoutParts } from '../../src/core/secret-parts.js';

test('path, values of the query and credentials are secret, as they stand and decoded; short words and the host are not', () => {
  const url = new URL('https://user%2Bname:pass%40word@node.example.com/v3/0123456789ab?apikey=s%C3%A9cret-1&x=1');
  const quoted = 'no /v3/0123456789ab?apikey=s%C3%A9cret-1&x=1 (sécret-1, user+name, user%2Bname, pass@word) at node.example.com';
  assert.equal(withoutParts(quoted, secretPartsOf(url)), 'no /v3/***?apikey=***&x=1 (***, ***, ***, ***) at node.example.com');
});

test('a part that is within another leaves nothing of it', () => {
  const url = new URL('https://h/secret/secret-and-more/100%25');
  assert.equal(withoutParts('secret-and-more, secret', secretPartsOf(url)), '***, ***');
});
