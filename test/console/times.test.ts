import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { absoluteText, clockText, durationText, relativeText, shortDurationText } from '../../src/console/text/times.js';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

describe('times of the console', () => {
  it('duration: has the two largest units', () => {
    assert.equal(durationText(0), '0 ms');
    assert.equal(durationText(850), '850 ms');
    assert.equal(durationText(999.7), '1.0 s');
    assert.equal(durationText(9_960), '10 s');
    assert.equal(durationText(42 * second), '42 s');
    assert.equal(durationText(59.9 * second), '1 min');
    assert.equal(durationText(3 * minute + 5 * second), '3 min 5 s');
    assert.equal(durationText(2 * hour + 10 * minute + 59 * second), '2 h 10 min');
    assert.equal(durationText(3 * day), '3 d');
    assert.equal(durationText(-5), '0 ms');
    assert.equal(durationText(Number.POSITIVE_INFINITY), 'over 100 years');
    assert.equal(shortDurationText(119 * minute), '1 h');
    assert.equal(shortDurationText(5), '0 s');
    assert.equal(shortDurationText(Number.NaN), 'over 100 years');
  });

  it('relative: names the direction', () => {
    const now = Date.UTC(2026, 10, 25, 22, 44, 11);
    assert.equal(relativeText(now - 3 * minute, now), '3 min ago');
    assert.equal(relativeText(now + 2 * hour, now), 'in 2 h');
    assert.equal(relativeText(now + 500, now), 'now');
    assert.equal(absoluteText(now), '2026-11-25 22:44:11 UTC');
    assert.equal(clockText(now), '22:44:11');
    assert.equal(absoluteText(Number.NaN), 'unknown time');
    assert.equal(clockText(1e20), 'unknown time');
  });

  it('duration: every number has a text, and no unit reaches the next one', () => {
    fc.assert(
      fc.property(fc.double(), (ms) => {
        assert.match(durationText(ms), /^(\d+ ms|\d\.\d s|\d+ (s|min|h|d)( \d+ (s|min|h))?|over 100 years)$/);
        assert.doesNotMatch(durationText(ms), /\b(1000 ms|(6\d|[7-9]\d|\d{3,}) (s|min)|(2[4-9]|[3-9]\d|\d{3,}) h)\b/);
      }),
    );
  });
});
