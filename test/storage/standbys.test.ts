import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { waitsForEach } from '../../src/storage/postgres/standbys.js';

describe('synchronous_standby_names', () => {
  for (const [names, expected] of [
    ['', false],
    ['a', true],
    ['"a"', true],
    ['"a, b"', true],
    ['1 (a)', true],
    ['FIRST 2 (a, b)', true],
    ['first 2 ("a", "b(1)")', true],
    ['ANY 2 (a,b)', true],
    ['ANY 3 (a, b)', true],
    ['a, b', false],
    ['FIRST 1 (a, b)', false],
    ['1 (a, b)', false],
    ['ANY 1 (a, b)', false],
    ['ANY 2 (a, b, "c d")', false],
    ['*', false],
    ['"*"', false],
    ['FIRST 2 (a, *)', false],
    ['ANY 1 (*)', false],
  ] as const)
    it(`${JSON.stringify(names)} ${expected ? 'waits' : 'does not wait'} for each standby that can take over`, () => {
      assert.equal(waitsForEach(names), expected);
    });
});
