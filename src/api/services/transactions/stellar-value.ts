import type { ScI128, ScI256, ScU128, ScU256, ScVal } from '../../../../gen/relayer/v1/stellar_pb.js';
import { greatestValueDepth, type StellarValue, type StellarWideKind } from '../../../core/transaction/stellar.js';

/** The contract value that a caller describes. Values nested too deep are not read: whoever judges the request refuses them. */
export function stellarValueOf({ value }: ScVal, depth = 1): StellarValue {
  if (depth > greatestValueDepth) return { kind: 'too_deep' };
  switch (value.case) {
    case undefined:
      return { kind: 'unset' };
    case 'void':
      return { kind: 'void' };
    case 'bool':
      return { kind: value.case, value: value.value };
    case 'u32':
    case 'i32':
      return { kind: value.case, value: value.value };
    case 'u64':
    case 'i64':
    case 'timepoint':
    case 'duration':
      return { kind: value.case, value: value.value };
    case 'u128':
    case 'i128':
      return wideOf(value.case, value.value, [value.value.hi, value.value.lo]);
    case 'u256':
    case 'i256':
      return wideOf(value.case, value.value, [value.value.hiHi, value.value.hiLo, value.value.loHi, value.value.loLo]);
    case 'bytes':
      return { kind: value.case, value: value.value };
    case 'string':
    case 'symbol':
    case 'address':
      return { kind: value.case, value: value.value };
    case 'vec':
      return { kind: 'vec', values: value.value.values.map((item) => stellarValueOf(item, depth + 1)) };
    case 'map':
      return {
        kind: 'map',
        entries: value.value.entries.map(({ key, val }) => ({
          key: key && stellarValueOf(key, depth + 1),
          val: val && stellarValueOf(val, depth + 1),
        })),
      };
  }
}

function wideOf(
  kind: StellarWideKind,
  { decimal }: ScU128 | ScI128 | ScU256 | ScI256,
  parts: readonly (bigint | undefined)[],
): StellarValue {
  return { kind, decimal, parts };
}
