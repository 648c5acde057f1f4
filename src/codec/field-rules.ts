import { type DescField, type DescMessage, type DescOneof, getOption, ScalarType } from '@bufbuild/protobuf';
import { DurationSchema, TimestampSchema } from '@bufbuild/protobuf/wkt';
import {
  type FieldRules,
  field as fieldOption,
  type MessageRules,
  message as messageOption,
  type RestKey,
  type UnionRules,
  union as unionOption,
} from '../../gen/relayer/rest/v1/options_pb.js';
import { type TextSyntax, textSyntaxes } from '../core/text/text-syntax.js';

/** Returns a field's options. */
export const fieldRulesOf = readOnce((field: DescField): FieldRules => getOption(field, fieldOption));

/** Returns a union's options. */
export const unionRulesOf = readOnce((oneof: DescOneof): UnionRules => getOption(oneof, unionOption));

/** Returns a message's options. */
export const messageRulesOf = readOnce((desc: DescMessage): MessageRules => getOption(desc, messageOption));

/** Returns the field's name in REST JSON, and in sentences about it. */
export function restNameOf(field: DescField): string {
  return fieldRulesOf(field).name || field.name;
}

/** Returns the keys that only REST has. */
export function restKeysOf(desc: DescMessage): readonly RestKey[] {
  return messageRulesOf(desc).restKeys;
}

/** Returns the syntax of a text field, or of its items; undefined if the field accepts any text. */
export function textSyntaxOf(field: DescField): TextSyntax | undefined {
  const { syntax } = fieldRulesOf(field);
  return syntax === '' ? undefined : textSyntaxes.get(syntax);
}

/** True if an empty text means that the field is not set: whether it is required is checked later. */
export function isUnsetIfEmpty(field: DescField): boolean {
  return field.fieldKind === 'scalar' && field.oneof === undefined && !field.proto.proto3Optional;
}

/** Describes bytes of an exact length in errors. */
export function lengthDescription(length: number): string {
  return `must be ${length} bytes: ${2 * length} hex digits or an array of ${length} integers`;
}

/** Returns the scalar type of a field or of its items; undefined if those are not scalars. */
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

/** The range of an integer type; undefined for other types. */
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

/** Checks that a field's options fit its type. Throws, naming the field, so that the service does not start. */
export function checkFieldRules(field: DescField): void {
  const rules = fieldRulesOf(field);
  const scalar = scalarTypeOf(field);
  const range = integerRangeOf(scalar);
  const isString = scalar === ScalarType.STRING;
  require(field, 'number', !rules.number || isString || (range !== undefined && isLong(range)), 'a string or a 64-bit integer');
  require(field, 'amount', !rules.amount || isString, 'a string');
  require(field, 'json', !rules.json || (isString && !rules.amount && !rules.number), 'a string, without amount or number');
  require(field, 'syntax', rules.syntax === '' || (isString && textSyntaxes.has(rules.syntax)), 'a string, and the name of a syntax');
  require(field, 'length', rules.length === 0 || rules.hex, 'bytes with hex');
  require(field, 'max_length', rules.maxLength === 0 || isString || scalar === ScalarType.BYTES, 'a string or bytes');
  require(field, 'min_items or max_items', rules.minItems + rules.maxItems === 0 || field.fieldKind === 'list', 'a list');
  require(field, 'hex', !rules.hex || scalar === ScalarType.BYTES, 'bytes');
  const isDuration = field.message?.typeName === DurationSchema.typeName;
  const isBounded = rules.min !== undefined || rules.max !== undefined;
  require(field, 'min or max', !isBounded ||
    range !== undefined ||
    isDuration ||
    isAmountFrom1(rules), 'an integer, a duration or, for min: 1, an amount');
  require(field, 'name', !isDuration || rules.name.endsWith('_ms'), 'a name in milliseconds');
  require(field, 'unix_seconds', !rules.unixSeconds || field.message?.typeName === TimestampSchema.typeName, 'a time');
  require(field, 'min above max', rules.min === undefined || rules.max === undefined || rules.min <= rules.max, 'a range');
  require(field, 'non_empty', !rules.nonEmpty || field.fieldKind === 'list', 'a list');
  require(field, 'if_match', !rules.ifMatch ||
    (range?.min === 0n && isLong(range) && isNullable(field)), 'an optional unsigned 64-bit integer');
  require(field, 'prefer', rules.prefer === '' || rules.rpcOnly, 'rpc_only');
  require(field, 'last_event_id', !rules.lastEventId || isString, 'a string');
  require(field, 'nullable', !rules.nullable || isNullable(field), 'an optional field');
  require(field, 'unset', rules.unset === '' || (!rules.nullable && isNullable(field)), 'an optional field that is not nullable');
  const isTagged = field.oneof !== undefined && unionRulesOf(field.oneof).selector.case === 'tag';
  require(field, 'tags', rules.tags.length === 0 || isTagged, 'a case of a tagged union');
  require(field, 'name', rules.name === '' ||
    field.oneof === undefined ||
    unionRulesOf(field.oneof).selector.case === undefined, 'a field with a key of its own');
  if ('longAsString' in field && field.longAsString) throw new Error(`${field} has jstype, which REST does not read`);
}

function isAmountFrom1({ amount, min, max }: FieldRules): boolean {
  return amount && min === 1n && max === undefined;
}

function isNullable(field: DescField): boolean {
  if (field.fieldKind === 'list' || field.fieldKind === 'map' || field.oneof !== undefined) return false;
  return field.fieldKind === 'message' || field.proto.proto3Optional;
}

function require(field: DescField, option: string, fits: boolean, wanted: string): void {
  if (!fits) throw new Error(`${field} has the option ${option}, which needs ${wanted}`);
}

/** Reading options decodes bytes, and the start asks for the same ones many times. */
function readOnce<Desc extends object, Rules>(read: (desc: Desc) => Rules): (desc: Desc) => Rules {
  const known = new WeakMap<Desc, Rules>();
  return (desc) => {
    const before = known.get(desc);
    if (before !== undefined) return before;
    const rules = read(desc);
    known.set(desc, rules);
    return rules;
  };
}
