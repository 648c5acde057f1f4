import { type DescField, type DescOneof, getOption, ScalarType } from '@bufbuild/protobuf';
import { type FieldRules, field as fieldOption, type UnionRules, union as unionOption } from '../../gen/relayer/rest/v1/options_pb.js';

/** What the options say of a field. */
export function fieldRulesOf(field: DescField): FieldRules {
  return getOption(field, fieldOption);
}

/** What the options say of a union. */
export function unionRulesOf(oneof: DescOneof): UnionRules {
  return getOption(oneof, unionOption);
}

/** The field's name in REST JSON, and in sentences about it. */
export function restNameOf(field: DescField): string {
  return fieldRulesOf(field).name || field.name;
}

/** The scalar type of a field or of its items; undefined where those are no scalars. */
export function scalarTypeOf(field: DescField): ScalarType | undefined {
  return field.fieldKind === 'scalar' || field.fieldKind === 'list' ? field.scalar : undefined;
}

/** An inclusive range of integers. */
export interface IntegerRange {
  readonly min: bigint;
  readonly max: bigint;
}

const int32: IntegerRange = { min: -(2n ** 31n), max: 2n ** 31n - 1n };
const uint32: IntegerRange = { min: 0n, max: 2n ** 32n - 1n };
const int64: IntegerRange = { min: -(2n ** 63n), max: 2n ** 63n - 1n };
const uint64: IntegerRange = { min: 0n, max: 2n ** 64n - 1n };

/** What an integer type can hold; undefined for other types. */
export function integerRangeOf(type: ScalarType | undefined): IntegerRange | undefined {
  switch (type) {
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return int32;
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return uint32;
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return int64;
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return uint64;
    default:
      return undefined;
  }
}

/** True for the integer types that messages hold as `bigint`. */
export function isLong(range: IntegerRange): boolean {
  return range.max > uint32.max;
}
