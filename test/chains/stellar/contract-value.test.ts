import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nativeToScVal, scValToBigInt, xdr } from '@stellar/stellar-sdk';
import { compareValues, contractValueFrom } from '../../../src/chains/stellar/contract-value.js';
import { DomainError } from '../../../src/core/errors/errors.js';
import { maxValueDepth, type StellarValue, type StellarWideKind } from '../../../src/core/records/stellar.js';
import { stellarKey } from '../../support/stellar.js';

const big = (value: bigint, type: 'i128' | 'u128' | 'i256' | 'u256' | 'i64' | 'u64'): xdr.ScVal => nativeToScVal(value, { type });
const symbol = (text: string): xdr.ScVal => xdr.ScVal.scvSymbol(text);
const vec = (...values: readonly xdr.ScVal[]): xdr.ScVal => xdr.ScVal.scvVec([...values]);
const addresses = [stellarKey().address, stellarKey().address].map((address) => nativeToScVal(address, { type: 'address' }));

describe('compareValues: sorts as the host does', () => {
  const ascending: Readonly<Record<string, readonly xdr.ScVal[]>> = {
    'sorts by kind first': [xdr.ScVal.scvBool(true), xdr.ScVal.scvVoid(), xdr.ScVal.scvU32(9), xdr.ScVal.scvI32(-9), symbol('a'), vec()],
    'sorts false before true': [xdr.ScVal.scvBool(false), xdr.ScVal.scvBool(true)],
    'sorts negative numbers first': [xdr.ScVal.scvI32(-2), xdr.ScVal.scvI32(-1), xdr.ScVal.scvI32(0)],
    'sorts signed 64-bit integers': [big(-(2n ** 63n), 'i64'), big(-1n, 'i64'), big(2n ** 63n - 1n, 'i64')],
    'sorts unsigned 64-bit integers': [big(1n, 'u64'), big(2n ** 64n - 1n, 'u64')],
    'sorts signed 128-bit integers': [big(-(2n ** 64n), 'i128'), big(-1n, 'i128'), big(0n, 'i128'), big(2n ** 64n, 'i128')],
    'sorts unsigned 128-bit integers': [big(2n ** 64n - 1n, 'u128'), big(2n ** 64n, 'u128'), big(2n ** 128n - 1n, 'u128')],
    'sorts signed 256-bit integers': [big(-(2n ** 200n), 'i256'), big(-1n, 'i256'), big(2n ** 200n, 'i256')],
    'sorts unsigned 256-bit integers': [big(2n ** 64n, 'u256'), big(2n ** 192n, 'u256')],
    'sorts strings by their bytes, the shorter one first': [symbol(''), symbol('B'), symbol('a'), symbol('aa'), symbol('b')],
    'sorts bytes above 127 last': [xdr.ScVal.scvString(Buffer.from([0x7f])), xdr.ScVal.scvString(Buffer.from([0x80]))],
    'sorts lists item by item': [vec(), vec(symbol('a')), vec(symbol('a'), symbol('a')), vec(symbol('b'))],
  };
  for (const [what, values] of Object.entries(ascending)) {
    it(what, () => {
      for (const [index, value] of values.entries()) {
        for (const [other, against] of values.entries()) {
          assert.equal(Math.sign(compareValues(value, against)), Math.sign(index - other), `${index} against ${other}`);
        }
      }
    });
  }

  it('compareValues: sorts as the host does: distinguishes addresses', () => {
    const [one, other] = addresses;
    assert.ok(one !== undefined && other !== undefined);
    assert.equal(compareValues(one, one), 0);
    assert.equal(compareValues(one, other), -compareValues(other, one));
    assert.notEqual(compareValues(one, other), 0);
  });
});

describe('contract values', () => {
  const problemOf = (value: StellarValue): string => {
    try {
      contractValueFrom(value, 'args[0]');
    } catch (error) {
      return error instanceof DomainError ? error.message : String(error);
    }
    return 'it is accepted';
  };
  const wide = (kind: StellarWideKind, decimal: string): StellarValue => ({ kind, decimal, parts: [] });

  for (const [kind, least, most, range] of [
    ['u128', 0n, 2n ** 128n - 1n, '0 to 2^128-1'],
    ['i128', -(2n ** 127n), 2n ** 127n - 1n, '-2^127 to 2^127-1'],
    ['u256', 0n, 2n ** 256n - 1n, '0 to 2^256-1'],
    ['i256', -(2n ** 255n), 2n ** 255n - 1n, '-2^255 to 2^255-1'],
  ] as const)
    it(`contract values: ${kind} is from ${range}`, () => {
      for (const end of [least, most, 7n]) assert.equal(scValToBigInt(contractValueFrom(wide(kind, String(end)), 'args[0]')), end);
      for (const outside of [least - 1n, most + 1n, 10n ** 80n])
        assert.equal(problemOf(wide(kind, String(outside))), `args[0].${kind} must be an integer from ${range}`);
    });

  it('contract values: are nested at most as deep as contracts need, and too deep ones are refused however they come', () => {
    const nested = (depth: number): StellarValue => (depth === 1 ? { kind: 'void' } : { kind: 'vec', values: [nested(depth - 1)] });
    assert.equal(problemOf(nested(maxValueDepth)), 'it is accepted');
    assert.match(problemOf(nested(maxValueDepth + 1)), /must not be nested deeper than \d+ levels$/);
    assert.equal(problemOf({ kind: 'too_deep' }), `args[0] must not be nested deeper than ${maxValueDepth} levels`);
  });
});
