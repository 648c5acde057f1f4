import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shownName } from '../../src/core/shown-name.js';

test('a name is said back as it is, up to 64 whole characters', () => {
  assert.equal(shownName('r1'), 'r1');
  assert.equal(shownName(''), '');
  assert.equal(shownName('x'.repeat(1_000_000)), 'x'.repeat(64));
  assert.equal(shownName(`x${'🙂'.repeat(64)}`), `x${'🙂'.repeat(63)}`);
});

test('half of a surrogate pair is shown as the replacement character', () => {
  assert.equal(shownName('a\ud800b'), 'a\uFFFDb');
});
