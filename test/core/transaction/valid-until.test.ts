import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DomainError } from '../../../src/core/errors/errors.js';
import { readValidUntil } from '../../../src/core/transaction/valid-until.js';

const nowMs = Date.parse('2030-01-31T12:00:00Z');

describe('valid_until', () => {
  const taken: readonly (readonly [timeMs: number | undefined, ms: number | null])[] = [
    [undefined, null],
    [nowMs + 1, nowMs + 1],
    [Date.parse('9999-12-31T23:59:59Z'), Date.parse('9999-12-31T23:59:59Z')],
  ];
  for (const [timeMs, ms] of taken) it(`takes ${timeMs}`, () => assert.equal(readValidUntil(timeMs, nowMs), ms));

  for (const timeMs of [nowMs, nowMs - 1, 0, -1])
    it(`valid_until: rejects ${timeMs}, which is past`, () =>
      assert.throws(
        () => readValidUntil(timeMs, nowMs),
        (error) => error instanceof DomainError && error.reason === 'FIELD_INVALID' && /must not be in the past/.test(error.message),
      ));
});
