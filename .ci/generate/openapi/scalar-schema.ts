import { type DescField, ScalarType } from '@bufbuild/protobuf';
import type { FieldRules } from '../../../gen/relayer/rest/v1/options_pb.js';
import { allowedRangeOf, amountPattern } from '../../../src/codec/field-bounds.js';
import { fieldRulesOf, type IntegerRange, integerRangeOf, isLong, scalarTypeOf, textSyntaxOf } from '../../../src/codec/field-rules.js';
import { digitsPattern, hexPattern, longPattern } from '../../../src/codec/scalar-codecs.js';
import { maxIdLength } from '../../../src/core/relayer/call-rpc.js';
import { type Schema, untypedChoice } from './schema.js';

/** Whether the JSON is a request or a response: REST reads more forms than it writes. */
export type Direction = 'request' | 'answer';

/** Names a schema, and returns a reference to it. */
export interface NamedSchemas {
  add(name: string, schema: Schema): Schema;
}

const maxInt32 = 2n ** 31n - 1n;
const maxInt64 = 2n ** 63n - 1n;

/** An amount in a request. */
const amount = amountFrom(0, amountPattern);
const amountFrom1 = amountFrom(1, /^(?:0*[1-9][0-9]*|0x0*[1-9a-fA-F][0-9a-fA-F]*)$/);

function amountFrom(minimum: 0 | 1, pattern: RegExp): Schema {
  return choice(
    minimum === 0 ? 'Amount' : `AmountFrom${minimum}`,
    `An integer from ${minimum} to 2^128-1: a string of decimal digits or of \`0x\` and hex digits, or a JSON integer. Use a string, which is exact in every language.`,
    [
      { type: 'string', pattern: pattern.source, ...(minimum === 0 ? {} : { maxLength: 78 }) },
      { type: 'integer', minimum, maximum: 2n ** 128n - 1n },
    ],
  );
}

/** Decimal digits in a request. */
const digits = choice(
  'Digits',
  'An integer: a string of decimal digits, or a JSON integer. Use a string, which is exact in every language.',
  [{ type: 'string', pattern: digitsPattern.source }, { type: 'integer' }],
);

/** Bytes in a request. */
function hexBytes({ length, maxLength }: FieldRules): Schema {
  const digits = length === 0 ? hexPattern : new RegExp(`^(?:0x)?[0-9a-fA-F]{${2 * length}}$`);
  const array = { type: 'array', items: boundedInteger({ min: 0n, max: 255n }) };
  return untypedChoice([
    { type: 'string', pattern: digits.source, ...(maxLength > 0 && { maxLength: 2 + 2 * maxLength }) },
    { ...array, ...(length > 0 && { minItems: length, maxItems: length }) },
  ]);
}

/** Bytes as base64. */
function base64Bytes({ maxLength }: FieldRules): Schema {
  return { type: 'string', contentEncoding: 'base64', ...(maxLength === 0 ? {} : { maxLength: Math.ceil(maxLength / 3) * 4 }) };
}

/**
 * An integer of any size in a response. The type is `number` because most generators map that to an exact decimal type, but `integer`
 * without a format to 32 bits, which some clients cut silently. Nothing else in the document is a `number`, so one type mapping of a
 * generator covers it.
 */
const exactInteger: Schema = {
  title: 'ExactInteger',
  type: 'number',
  description:
    'An integer of any size, as a JSON number without fraction and exponent. Read it with an exact type, never as a floating-point number.',
  'x-go-type': 'json.Number',
};

/** The schemas of fields that contain JSON; others accept any value. `not`, because generators have no choice between a list and an object. */
const jsonForms: Readonly<Record<string, Schema>> = {
  'CallRpcRequest.params': { not: { type: ['string', 'number', 'boolean'] } },
  // The text that the service limits has quotes.
  'CallRpcRequest.id': { not: { type: ['array', 'object', 'boolean'] }, maxLength: maxIdLength - 2 },
  'LocalSignerConfig.keystore': { type: 'object', additionalProperties: true },
};

/** Returns the schema of a scalar field or of its items, as the codec reads or writes it. */
export function scalarSchema(schemas: NamedSchemas, field: DescField, direction: Direction): Schema {
  const rules = fieldRulesOf(field);
  const { hex, json, amount: isAmount, number, min } = rules;
  const scalar = scalarTypeOf(field);
  const isRequest = direction === 'request';
  if (scalar === ScalarType.BOOL) return { type: 'boolean' };
  if (scalar === ScalarType.BYTES && !hex) return isRequest ? base64Bytes(rules) : { type: 'string', contentEncoding: 'base64' };
  if (scalar === ScalarType.BYTES) return isRequest ? hexBytes(rules) : { type: 'string', pattern: '^(?:[0-9a-f]{2})*$' };
  if (scalar !== ScalarType.STRING) return integerSchema(schemas, field, direction);
  if (json) return jsonForms[`${field.parent.name}.${field.name}`] ?? {};
  if (isAmount && isRequest) return named(schemas, min === 1n ? amountFrom1 : amount);
  if (number) return named(schemas, isRequest ? digits : exactInteger);
  return isRequest ? textSchema(field) : { type: 'string' };
}

/** Returns the schema of the texts that the codec accepts. Responses have no pattern: clients that check it would refuse texts that a later version adds. */
function textSchema(field: DescField): Schema {
  const { pattern, shownPattern = pattern, maxLength = fieldRulesOf(field).maxLength } = textSyntaxOf(field) ?? {};
  return { type: 'string', ...(shownPattern && { pattern: shownPattern.source }), ...(maxLength > 0 && { maxLength }) };
}

/** Returns the schema of an integer in a path or query. */
export function integerTextSchema(field: DescField): Schema {
  return boundedInteger(allowedRangeOf(field));
}

function integerSchema(schemas: NamedSchemas, field: DescField, direction: Direction): Schema {
  const type = integerRangeOf(scalarTypeOf(field));
  if (type === undefined) throw new Error(`${field} is of a type that has no REST form`);
  const range = allowedRangeOf(field);
  const isQuoted = isLong(type) && !fieldRulesOf(field).number;
  if (direction === 'answer') return isQuoted ? { type: 'string', pattern: '^-?[0-9]+$' } : { type: 'integer', format: formatOf(range) };
  // A 64-bit integer may also be a string, for values that do not fit a JSON number. Integers that REST writes as numbers fit.
  return isLong(type) && (isQuoted || range.max > maxInt64) ? named(schemas, longChoice(range)) : boundedInteger(range);
}

/** Generators know `int32` and `int64` only. No number above 2^63-1 occurs: unsigned fields are nonces, heights, counts and gas. */
function formatOf({ min, max }: IntegerRange): 'int32' | 'int64' {
  return min >= -maxInt32 - 1n && max <= maxInt32 ? 'int32' : 'int64';
}

/** An integer with the format that holds its range. */
export function boundedInteger(range: IntegerRange): Schema {
  return { type: 'integer', format: formatOf(range), minimum: range.min, maximum: range.max > maxInt64 ? maxInt64 : range.max };
}

/** A 64-bit integer in a request, as an integer or as decimal digits. */
function longChoice({ min, max }: IntegerRange): Schema {
  return choice(
    longName({ min, max }),
    `An integer from ${min} to ${max}: a string of decimal digits, or a JSON integer. A string is exact in every language.`,
    [
      { type: 'string', pattern: longPattern.source },
      { type: 'integer', minimum: min, maximum: max },
    ],
  );
}

function longName({ min, max }: IntegerRange): string {
  const type = max > maxInt64 ? 'Uint64Value' : 'Int64Value';
  const [least, most] = type === 'Uint64Value' ? [0n, 2n * maxInt64 + 1n] : [-maxInt64 - 1n, maxInt64];
  const from = min === least ? '' : `From${min}`;
  return (type + from + (max === most ? '' : `To${max}`)).replaceAll('-', 'Minus');
}

function choice(title: string, description: string, anyOf: readonly Schema[]): Schema {
  return { title, description, anyOf };
}

function named(schemas: NamedSchemas, schema: Schema): Schema {
  return schemas.add(String(schema.title), schema);
}
