import assert from 'node:assert/strict';
import { it } from 'node:test';
import { outsideText } from '../../src/core/outside-text.js';

it('leaves plain text as it is', () => assert.equal(outsideText('nonce too low: 日本 ü'), 'nonce too low: 日本 ü'));

it('escapes what could mislead a terminal or a reader', () => {
  assert.equal(outsideText('a\nb\x1b[31m\u202e\u2028\ud800'), 'a\\u{a}b\\u{1b}[31m\\u{202e}\\u{2028}�');
});

it('keeps at most 1 KiB, and whole characters', () => {
  assert.equal(outsideText('x'.repeat(5000)), 'x'.repeat(1024));
  assert.equal(outsideText('日'.repeat(5000)), '日'.repeat(341));
});
