import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nativeToScVal, xdr } from '@stellar/stellar-sdk';
import { compareValues } from '../../../src/chains/stellar/contract-value.js';
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
