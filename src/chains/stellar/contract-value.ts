import { xdr } from '@stellar/stellar-sdk';
import { invalidField } from '../../core/errors.js';
import { greatestValueDepth, type StellarValue, type StellarWideKind } from '../../core/transaction/stellar.js';
import { readContractAddress } from './address.js';

/** What contracts name functions and symbols with. */
export const symbolPattern = /^[A-Za-z0-9_]{1,32}$/;

/**
 * The contract value that a caller describes. Map entries are put into the order that contracts demand. Throws `DomainError` (400) naming the field by
 * its path, which begins with `path`.
 */
export function contractValueFrom(value: StellarValue | undefined, path: string, depth = 1): xdr.ScVal {
  if (value === undefined) throw invalidField(path, 'is required');
  if (depth > greatestValueDepth || value.kind === 'too_deep')
    throw invalidField(path, `must not be nested deeper than ${greatestValueDepth}`);
  const at = `${path}.${value.kind}`;
  switch (value.kind) {
    case 'unset':
      throw invalidField(path, 'must name the kind of its value, such as u32');
    case 'void':
      return xdr.ScVal.scvVoid();
    case 'bool':
      return xdr.ScVal.scvBool(value.value);
    case 'u32':
      return xdr.ScVal.scvU32(value.value);
    case 'i32':
      return xdr.ScVal.scvI32(value.value);
    case 'u64':
      return xdr.ScVal.scvU64(new xdr.Uint64(value.value));
    case 'i64':
      return xdr.ScVal.scvI64(new xdr.Int64(value.value));
    case 'timepoint':
      return xdr.ScVal.scvTimepoint(new xdr.Uint64(value.value));
    case 'duration':
      return xdr.ScVal.scvDuration(new xdr.Uint64(value.value));
    case 'u128':
    case 'i128':
    case 'u256':
    case 'i256':
      return wideValue(value.kind, wideInteger(value, at));
    case 'bytes':
      return xdr.ScVal.scvBytes(Buffer.from(value.value));
    case 'string':
      return xdr.ScVal.scvString(value.value);
    case 'symbol':
      // The host takes an empty symbol too.
      if (value.value !== '' && !symbolPattern.test(value.value)) throw invalidField(at, 'must be at most 32 of a-z, A-Z, 0-9 and _');
      return xdr.ScVal.scvSymbol(value.value);
    case 'address': {
      const address = readContractAddress(value.value);
      if (address === null) throw invalidField(at, 'must be the address of an account (G..., M...) or of a contract (C...)');
      return xdr.ScVal.scvAddress(address);
    }
    case 'vec':
      return xdr.ScVal.scvVec(value.values.map((item, index) => contractValueFrom(item, `${at}[${index}]`, depth + 1)));
    case 'map':
      return xdr.ScVal.scvMap(sortedEntries(value.entries, at, depth));
  }
}

/** Order says nothing in a map, but the host refuses one that is not sorted, or has a key twice. */
function sortedEntries(entries: Extract<StellarValue, { kind: 'map' }>['entries'], path: string, depth: number): xdr.ScMapEntry[] {
  const sorted = entries
    .map(({ key, val }, index) => ({
      index,
      key: contractValueFrom(key, `${path}[${index}].key`, depth + 1),
      val: contractValueFrom(val, `${path}[${index}].val`, depth + 1),
    }))
    .toSorted((a, b) => compareValues(a.key, b.key));
  for (const [at, { key, index }] of sorted.entries()) {
    const next = sorted[at + 1];
    if (next !== undefined && compareValues(key, next.key) === 0) {
      throw invalidField(`${path}[${Math.max(index, next.index)}].key`, 'is in the map twice');
    }
  }
  return sorted.map(({ key, val }) => new xdr.ScMapEntry({ key, val }));
}

type WideValue = Extract<StellarValue, { readonly parts: unknown }>;

const wideKinds: Readonly<Record<StellarWideKind, { readonly bits: 128 | 256; readonly isSigned: boolean; readonly range: string }>> = {
  u128: { bits: 128, isSigned: false, range: '0 to 2^128-1' },
  i128: { bits: 128, isSigned: true, range: '-2^127 to 2^127-1' },
  u256: { bits: 256, isSigned: false, range: '0 to 2^256-1' },
  i256: { bits: 256, isSigned: true, range: '-2^255 to 2^255-1' },
};

function wideInteger({ kind, decimal, parts }: WideValue, path: string): bigint {
  const { bits, isSigned, range } = wideKinds[kind];
  const hasParts = parts.some((part) => part !== undefined);
  if (decimal === undefined) {
    if (!hasParts) throw invalidField(path, 'must be decimal digits, or have parts of 64 bits');
    return parts.reduce<bigint>((sum, part) => (sum << 64n) + (part ?? 0n), 0n);
  }
  if (hasParts) throw invalidField(path, 'must have either decimal or parts');
  if (!/^-?[0-9]+$/.test(decimal)) throw invalidField(`${path}.decimal`, 'must be an integer');
  // 2^256 has 78 digits.
  const integer = decimal.length > 79 ? null : BigInt(decimal);
  if (integer === null || (isSigned ? BigInt.asIntN(bits, integer) : BigInt.asUintN(bits, integer)) !== integer) {
    throw invalidField(path, `must be an integer from ${range}`);
  }
  return integer;
}

function wideValue(kind: StellarWideKind, integer: bigint): xdr.ScVal {
  const low = (shift: bigint): xdr.Uint64 => new xdr.Uint64(BigInt.asUintN(64, integer >> shift));
  const high = (shift: bigint): xdr.Int64 => new xdr.Int64(BigInt.asIntN(64, integer >> shift));
  switch (kind) {
    case 'u128':
      return xdr.ScVal.scvU128(new xdr.UInt128Parts({ hi: low(64n), lo: low(0n) }));
    case 'i128':
      return xdr.ScVal.scvI128(new xdr.Int128Parts({ hi: high(64n), lo: low(0n) }));
    case 'u256':
      return xdr.ScVal.scvU256(new xdr.UInt256Parts({ hiHi: low(192n), hiLo: low(128n), loHi: low(64n), loLo: low(0n) }));
    case 'i256':
      return xdr.ScVal.scvI256(new xdr.Int256Parts({ hiHi: high(192n), hiLo: low(128n), loHi: low(64n), loLo: low(0n) }));
  }
}

/**
 * The order of contract values that the Soroban host demands of map keys: by kind, then numbers by size, bytes and texts byte by byte with the shorter one
 * first, lists item by item. (rs-soroban-env, `Compare` of `ScVal`, which is the order that XDR types derive.) Below, equal or above zero.
 */
export function compareValues(a: xdr.ScVal, b: xdr.ScVal): number {
  const kinds = a.switch().value - b.switch().value;
  if (kinds !== 0) return kinds;
  switch (a.switch().name) {
    case 'scvBool':
      return Number(a.b()) - Number(b.b());
    case 'scvVec':
      return compareLists(a.vec() ?? [], b.vec() ?? [], compareValues);
    case 'scvMap':
      return compareLists(a.map() ?? [], b.map() ?? [], (x, y) => compareValues(x.key(), y.key()) || compareValues(x.val(), y.val()));
    case 'scvBytes':
    case 'scvString':
    case 'scvSymbol':
      return Buffer.compare(Buffer.from(a.value() as Buffer | string), Buffer.from(b.value() as Buffer | string));
    case 'scvVoid':
      return 0;
    case 'scvAddress':
      // All kinds of one address have the same length, so their bytes in XDR sort as the addresses do.
      return Buffer.compare(a.address().toXDR(), b.address().toXDR());
    default: {
      const [x, y] = [numberOf(a), numberOf(b)];
      return x < y ? -1 : x > y ? 1 : 0;
    }
  }
}

function compareLists<T>(a: readonly T[], b: readonly T[], compare: (x: T, y: T) => number): number {
  for (const [index, item] of a.entries()) {
    const other = b[index];
    if (other === undefined) return 1;
    const order = compare(item, other);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/** An integer of any width: the parts are in the order of their weight, and only the first has a sign. */
function numberOf(value: xdr.ScVal): bigint {
  switch (value.switch().name) {
    case 'scvU32':
      return BigInt(value.u32());
    case 'scvI32':
      return BigInt(value.i32());
    case 'scvU64':
      return value.u64().toBigInt();
    case 'scvI64':
      return value.i64().toBigInt();
    case 'scvTimepoint':
      return value.timepoint().toBigInt();
    case 'scvDuration':
      return value.duration().toBigInt();
    case 'scvU128':
      return joined(value.u128().hi(), value.u128().lo());
    case 'scvI128':
      return joined(value.i128().hi(), value.i128().lo());
    case 'scvU256':
      return joined(value.u256().hiHi(), value.u256().hiLo(), value.u256().loHi(), value.u256().loLo());
    case 'scvI256':
      return joined(value.i256().hiHi(), value.i256().hiLo(), value.i256().loHi(), value.i256().loLo());
    default:
      throw new Error(`a value of kind ${value.switch().name} has no place in an order of keys`);
  }
}

function joined(...parts: readonly { toBigInt(): bigint }[]): bigint {
  return parts.reduce((sum, part) => (sum << 64n) + part.toBigInt(), 0n);
}
