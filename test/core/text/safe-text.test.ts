import assert from 'node:assert/strict';
import { it, test } from 'node:test';
import { outsideText, secretPartsOf, shownName } from '../../../src/core/text/safe-text.js';
import { withoutSecrets } from '../../../src/core/text/without-secrets.js';

test('shownName: returns a name as it is, up to 64 whole characters', () => {
  assert.equal(shownName('r1'), 'r1');
  assert.equal(shownName(''), '');
  assert.equal(shownName('x'.repeat(1_000_000)), 'x'.repeat(64));
  assert.equal(shownName(`x${'🙂'.repeat(64)}`), `x${'🙂'.repeat(63)}`);
});

test('shownName: shows half of a surrogate pair as U+FFFD', () => {
  assert.equal(shownName('a\ud800b'), 'a\uFFFDb');
});

it('outsideText: leaves plain text as it is', () => assert.equal(outsideText('nonce too low: 日本 ü'), 'nonce too low: 日本 ü'));

it('outsideText: escapes what could mislead a terminal or a reader', () => {
  assert.equal(outsideText('a\nb\x1b[31m\u202e\u2028\ud800'), 'a\\u{a}b\\u{1b}[31m\\u{202e}\\u{2028}�');
});

it('outsideText: keeps at most 1 KiB of whole characters', () => {
  assert.equal(outsideText('x'.repeat(5000)), 'x'.repeat(1024));
  assert.equal(outsideText('日'.repeat(5000)), '日'.repeat(341));
});

test('secretPartsOf: path, query values and credentials are secret, raw and decoded; short words and the host are not', () => {
  const url = new URL('https://user%2Bname:pass%40word@node.example.com/v3/0123456789ab?apikey=s%C3%A9cret-1&x=1');
  const quoted = 'no /v3/0123456789ab?apikey=s%C3%A9cret-1&x=1 (sécret-1, user+name, user%2Bname, pass@word) at node.example.com';
  assert.equal(withoutSecrets(quoted, secretPartsOf(url)), 'no /v3/***?apikey=***&x=1 (***, ***, ***, ***) at node.example.com');
});

test('withoutSecrets: a part inside another leaves nothing of it', () => {
  const url = new URL('https://h/secret/secret-and-more/100%25');
  assert.equal(withoutSecrets('secret-and-more, secret', secretPartsOf(url)), '***, ***');
});
