import type { xdr } from '@stellar/stellar-sdk';

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
