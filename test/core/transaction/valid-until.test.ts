import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { DomainError } from '../../../src/core/errors.js';
import { readValidUntil } from '../../../src/core/transaction/valid-until.js';

const nowMs = Date.parse('2030-01-31T12:00:00Z');

describe('valid_until', () => {
  const taken: readonly (readonly [text: string | undefined, ms: number | null])[] = [
    [undefined, null],
    ['2030-01-31T12:00:00.001Z', nowMs + 1],
    ['2030-01-31T12:00:01Z', nowMs + 1_000],
    ['2030-01-31T14:00:01+02:00', nowMs + 1_000],
    ['2030-01-31T12:00:00.0019Z', nowMs + 1],
    ['9999-12-31T23:59:59Z', Date.parse('9999-12-31T23:59:59Z')],
  ];
  for (const [text, ms] of taken) it(`takes ${text}`, () => assert.equal(readValidUntil(text, nowMs), ms));

  const past = ['2030-01-31T12:00:00Z', '2030-01-31T11:59:59.999Z', '2030-01-31T12:00:00.0009Z', '1970-01-01T00:00:00Z'];
  const malformed = ['', 'tomorrow', '2030-01-31', '2030-01-31T12:00:00', '2030-02-30T12:00:00Z', '1900000000', ' 2030-01-31T12:00:01Z'];
  for (const [texts, words] of [
    [past, /must not be in the past/],
    [malformed, /must be an RFC 3339 time/],
  ] as const) {
    for (const text of texts)
      it(`valid_until: rejects ${JSON.stringify(text)}`, () =>
        assert.throws(
          () => readValidUntil(text, nowMs),
          (error) => error instanceof DomainError && error.reason === 'FIELD_INVALID' && words.test(error.message),
        ));
  }

  it('valid_until: is exact to the millisecond for any future time', () => {
    const time = fc.integer({ min: nowMs + 1, max: Date.parse('9999-12-31T23:59:59Z') });
    fc.assert(fc.property(time, (ms) => assert.equal(readValidUntil(new Date(ms).toISOString(), nowMs), ms)));
  });
});
