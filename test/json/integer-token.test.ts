import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { integerDigitsOf } from '../../src/json/json-value.js';
import { runs } from '../support/runs.js';

const examples: readonly (readonly [token: string, digits: string | undefined])[] = [
  ['0', '0'],
  ['-0', '0'],
  ['-0.0e5', '0'],
  ['0e999999999', '0'],
  ['1.0', '1'],
  ['1000000000000000001', '1000000000000000001'],
  ['1e+21', '1000000000000000000000'],
  ['1.5e1', '15'],
  ['-12.50e2', '-1250'],
  ['100e-2', '1'],
  ['1e00000000000000000003', '1000'],
  ['1.5', undefined],
  ['1e-1', undefined],
  ['100e-3', undefined],
  ['1e999999999', undefined],
  ['1e-999999999', undefined],
  ['1e99999999999999999999999999', undefined],
  [`1${'0'.repeat(99)}`, `1${'0'.repeat(99)}`],
  [`1${'0'.repeat(100)}`, undefined],
  [`${'1'.repeat(500_000)}`, undefined],
  [`0.${'0'.repeat(500_000)}1e500001`, '1'],
  [`1${'0'.repeat(500_000)}e-500000`, '1'],
];

describe('an integer token', () => {
  for (const [token, digits] of examples) {
    const name = token.length > 40 ? `${token.slice(0, 20)}... of ${token.length} characters` : token;
    it(`${name} is ${digits === undefined ? 'not an integer' : digits.slice(0, 40)}`, () => assert.equal(integerDigitsOf(token), digits));
  }

  it('an integer token: is read exactly in every form of an integer', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 256n), max: 2n ** 256n }), fc.integer({ min: 0, max: 120 }), (integer, shift) => {
        const digits = integer.toString();
        assert.equal(integerDigitsOf(digits), digits);
        assert.equal(integerDigitsOf(`${digits}.${'0'.repeat((shift % 5) + 1)}`), digits);
        assert.equal(integerDigitsOf(`${digits}${'0'.repeat(shift)}e-${shift}`), digits);
        const sign = integer < 0n ? '-' : '';
        assert.equal(
          integerDigitsOf(`${sign}0.${'0'.repeat(shift)}${digits.replace('-', '')}e${digits.replace('-', '').length + shift}`),
          digits,
        );
      }),
      { numRuns: runs(1000) },
    );
  });
});
