import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nextAttemptMs } from '../../src/webhooks/deliver-event.js';

const nowMs = Date.UTC(2030, 0, 1);
const failed = { attempts: 1, retrySeconds: [5, 30], retryAfter: undefined, nowMs, random: 0.5 };

describe('next attempt', () => {
  it('next attempt: follows the schedule', () => {
    assert.equal(nextAttemptMs(failed), nowMs + 5000);
    assert.equal(nextAttemptMs({ ...failed, attempts: 2 }), nowMs + 30_000);
  });

  it('next attempt: is undefined after the last delay of the schedule', () => {
    assert.equal(nextAttemptMs({ ...failed, attempts: 3 }), undefined);
    assert.equal(nextAttemptMs({ ...failed, retrySeconds: [] }), undefined);
  });

  it('next attempt: varies by 10 % in both directions', () => {
    assert.equal(nextAttemptMs({ ...failed, random: 0 }), nowMs + 4500);
    assert.equal(nextAttemptMs({ ...failed, random: 1 }), nowMs + 5500);
  });

  for (const [retryAfter, waitMs] of [
    ['120', 120_000],
    [' 120 ', 120_000],
    ['1', 5000],
    ['Tue, 01 Jan 2030 00:01:00 GMT', 60_000],
    ['Mon, 01 Jan 2029 00:00:00 GMT', 5000],
    ['99999999999999999999', 86_400_000],
    ['-7', 5000],
    ['soon', 5000],
    ['', 5000],
  ] as const) {
    it(`with Retry-After ${JSON.stringify(retryAfter)} waits ${waitMs} ms`, () => {
      assert.equal(nextAttemptMs({ ...failed, retryAfter }), nowMs + waitMs);
    });
  }
});
