import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { retryAfterMs } from '../../../src/core/work/retry-after.js';

const nowMs = Date.UTC(1994, 10, 6, 8, 49, 30);
const minuteMs = 60_000;

describe('Retry-After', () => {
  for (const [header, expected] of [
    ['7', 7_000],
    [' 7 ', 7_000],
    ['0', 0],
    ['0.25', 250],
    // The three forms of RFC 9110, 7 s ahead.
    ['Sun, 06 Nov 1994 08:49:37 GMT', 7_000],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 7_000],
    ['Sun Nov  6 08:49:37 1994', 7_000],
    ['Sun, 06 Nov 1994 08:49:00 GMT', 0],
    // Bounded.
    ['61', minuteMs],
    ['9'.repeat(400), minuteMs],
    ['Sun, 06 Nov 2094 08:49:37 GMT', minuteMs],
    [['7', '9'], 7_000],
    // No wait that can be read.
    [undefined, null],
    [[], null],
    ['', null],
    ['-1', null],
    ['soon', null],
    ['1e3', null],
    ['0x10', null],
    ['NaN', null],
    ['Infinity', null],
    ['attempt 5', null],
    ['Sun, the day of rest', null],
  ] as const)
    it(`retryAfterMs: ${JSON.stringify(header)?.slice(0, 40)} is ${expected}`, () => {
      assert.equal(retryAfterMs(header, nowMs, minuteMs), expected);
    });
});
