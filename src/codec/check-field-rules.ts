import { type DescField, ScalarType } from '@bufbuild/protobuf';
import { fieldRulesOf, integerRangeOf, isLong, scalarTypeOf, unionRulesOf } from './field-rules.js';

/** Throws, naming the field, where an option of it does not fit its type: the service must not start then. */
export function checkFieldRules(field: DescField): void {
  const rules = fieldRulesOf(field);
  const scalar = scalarTypeOf(field);
  const range = integerRangeOf(scalar);
  const isString = scalar === ScalarType.STRING;
  require(field, 'number', !rules.number || isString || (range !== undefined && isLong(range)), 'a string or a 64-bit integer');
  require(field, 'amount', !rules.amount || isString, 'a string');
  require(field, 'json', !rules.json || (isString && !rules.amount && !rules.number), 'a string, without amount or number');
  require(field, 'hex', !rules.hex || scalar === ScalarType.BYTES, 'bytes');
  require(field, 'min or max', (rules.min === undefined && rules.max === undefined) || range !== undefined, 'an integer');
  require(field, 'min above max', rules.min === undefined || rules.max === undefined || rules.min <= rules.max, 'a range');
  require(field, 'nullable', !rules.nullable || isNullable(field), 'an optional field');
  const isTagged = field.oneof !== undefined && unionRulesOf(field.oneof).selector.case === 'tag';
  require(field, 'tags', rules.tags.length === 0 || isTagged, 'a case of a tagged union');
  require(field, 'name', rules.name === '' ||
    field.oneof === undefined ||
    unionRulesOf(field.oneof).selector.case === undefined, 'a field with a key of its own');
  if ('longAsString' in field && field.longAsString) throw new Error(`${field} has jstype, which REST does not read`);
}

function isNullable(field: DescField): boolean {
  if (field.fieldKind === 'list' || field.fieldKind === 'map' || field.oneof !== undefined) return false;
  return field.fieldKind === 'message' || field.proto.proto3Optional;
}

function require(field: DescField, option: string, fits: boolean, wanted: string): void {
  if (!fits) throw new Error(`${field} has the option ${option}, which needs ${wanted}`);
}
