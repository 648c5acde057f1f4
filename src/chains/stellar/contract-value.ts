import { nativeToScVal, scValToBigInt, xdr } from '@stellar/stellar-sdk';
import { invalidField } from '../../core/errors/errors.js';
import { readAll, readEach } from '../../core/errors/read-all.js';
import { maxValueDepth, type StellarValue, type StellarWideKind } from '../../core/records/stellar.js';
import { checkText, syntaxes } from '../../core/text/text-syntax.js';
import { readContractAddress } from './address.js';

/** Encodes a contract value and sorts map entries as contracts require. Throws `DomainError` (400) naming the field under `path`. */
export function contractValueFrom(value: StellarValue | undefined, path: string, depth = 1): xdr.ScVal {
  if (value === undefined) throw invalidField(path, 'is required');
  if (depth > maxValueDepth || value.kind === 'too_deep')
    throw invalidField(path, `must not be nested deeper than ${maxValueDepth} levels`);
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
      return xdr.ScVal.scvU64(value.value);
    case 'i64':
      return xdr.ScVal.scvI64(value.value);
    case 'timepoint':
      return xdr.ScVal.scvTimepoint(value.value);
    case 'duration':
      return xdr.ScVal.scvDuration(value.value);
    case 'u128':
    case 'i128':
    case 'u256':
    case 'i256':
      return nativeToScVal(wideInteger(value, at), { type: value.kind });
    case 'bytes':
      return xdr.ScVal.scvBytes(Buffer.from(value.value));
    case 'string':
      return xdr.ScVal.scvString(value.value);
    case 'symbol':
      checkText(at, value.value, syntaxes.contract_symbol);
      return xdr.ScVal.scvSymbol(value.value);
    case 'address': {
      const address = readContractAddress(value.value);
      if (address === null) throw invalidField(at, syntaxes.stellar_address.description);
      return xdr.ScVal.scvAddress(address);
    }
    case 'vec':
      return xdr.ScVal.scvVec([...readEach(value.values, (item, index) => contractValueFrom(item, `${at}[${index}]`, depth + 1))]);
    case 'map':
      return xdr.ScVal.scvMap(sortedEntries(value.entries, at, depth));
  }
}

/** Sorts a map: the host rejects unsorted maps and duplicate keys. */
function sortedEntries(entries: Extract<StellarValue, { kind: 'map' }>['entries'], path: string, depth: number): xdr.ScMapEntry[] {
  const sorted = readEach(entries, ({ key, val }, index) =>
    readAll({
      index: () => index,
      key: () => contractValueFrom(key, `${path}[${index}].key`, depth + 1),
      val: () => contractValueFrom(val, `${path}[${index}].val`, depth + 1),
    }),
  ).toSorted((a, b) => compareValues(a.key, b.key));
  for (const [at, { key, index }] of sorted.entries()) {
    const next = sorted[at + 1];
    if (next !== undefined && compareValues(key, next.key) === 0) {
      throw invalidField(`${path}[${Math.max(index, next.index)}].key`, 'is a duplicate key in the map');
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
    if (!hasParts) throw invalidField(path, 'must have decimal digits or 64-bit parts');
    return parts.reduce<bigint>((sum, part) => (sum << 64n) + (part ?? 0n), 0n);
  }
  if (hasParts) throw invalidField(path, 'must have decimal or parts, not both');
  if (!/^-?[0-9]+$/.test(decimal)) throw invalidField(`${path}.decimal`, 'must be an integer');
  // 2^256 has 78 digits.
  const integer = decimal.length > 79 ? null : BigInt(decimal);
  if (integer === null || (isSigned ? BigInt.asIntN(bits, integer) : BigInt.asUintN(bits, integer)) !== integer) {
    throw invalidField(path, `must be an integer from ${range}`);
  }
  return integer;
}

/**
 * Compares map keys in the order of the Soroban host: by kind, then numbers by size, bytes and strings byte by byte with the shorter one
 * first, lists item by item. (rs-soroban-env, `Compare` of `ScVal`, which is the order that XDR types derive.)
 */
export function compareValues(a: xdr.ScVal, b: xdr.ScVal): number {
  const kinds = kindNumber(a) - kindNumber(b);
  if (kinds !== 0) return kinds;
  if (a.type === 'scvBool' && b.type === 'scvBool') return Number(a.b) - Number(b.b);
  if (a.type === 'scvVec' && b.type === 'scvVec') return compareLists(a.vec ?? [], b.vec ?? [], compareValues);
  if (a.type === 'scvMap' && b.type === 'scvMap')
    return compareLists(a.map ?? [], b.map ?? [], (x, y) => compareValues(x.key, y.key) || compareValues(x.val, y.val));
  if (a.type === 'scvBytes' && b.type === 'scvBytes') return Buffer.compare(a.bytes.value, b.bytes.value);
  if (a.type === 'scvString' && b.type === 'scvString') return Buffer.compare(a.str.bytes, b.str.bytes);
  if (a.type === 'scvSymbol' && b.type === 'scvSymbol') return Buffer.compare(a.sym.bytes, b.sym.bytes);
  // Addresses of one kind have the same length, so their XDR bytes sort like the addresses.
  if (a.type === 'scvAddress' && b.type === 'scvAddress') return Buffer.compare(a.address.toXdr(), b.address.toXdr());
  if (a.type === 'scvVoid') return 0;
  const [x, y] = [scValToBigInt(a), scValToBigInt(b)];
  return x < y ? -1 : x > y ? 1 : 0;
}

function kindNumber({ type }: xdr.ScVal): number {
  return xdr.ScValType[type].value;
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
