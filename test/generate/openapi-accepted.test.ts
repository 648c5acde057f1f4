import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { DurationSchema } from '@bufbuild/protobuf/wkt';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { documentText } from '../../.ci/generate/openapi/document.js';
import type { Schema } from '../../.ci/generate/openapi/schema.js';
import { SchemaCompiler } from '../../.ci/generate/openapi/schema-compiler.js';
import { compileMethodPlans } from '../../src/api/contract/method-plan.js';
import { createServices } from '../../src/api/services/services.js';
import { enumTextsOf } from '../../src/codec/enum-codec.js';
import { allowedRangeOf } from '../../src/codec/field-bounds.js';
import { fieldRulesOf, integerRangeOf, scalarTypeOf, textSyntaxOf } from '../../src/codec/field-rules.js';
import { CodecCompiler } from '../../src/codec/message-codec.js';
import { Reading } from '../../src/codec/reading.js';
import { jsonFromText } from '../../src/json/json-reader.js';

/*
 * The document must not deny what the service reads: a client that checks its requests would then refuse valid ones. Here every field of every request
 * body gets all spellings of JSON below. The schema of the field must accept each that its codec reads.
 */

const digits = '0123456789abcdef'.repeat(4);
const publicKey = `04${digits}${digits}`;
const stellarAccount = `G${'A'.repeat(55)}`;
const bytes32 = (spelling: string) => `[${Array.from({ length: 32 }, () => spelling).join(',')}]`;

/** Spellings of values, for fields of every kind: most fields read a few of them. */
const spellings: readonly string[] = [
  ...['0', '1', '7', '100', '5000', '255', '256', '2147483647', '4294967295', '9007199254740993', '9223372036854775807'],
  ...['18446744073709551615', '340282366920938463463374607431768211455', '-1', '-2147483648', '-9223372036854775808'],
  ...['-0', '-0.0', '0.0', '0e5', '1.0', '100.00', '1e0', '1e2', '1E+2', '1e-0', '1000e-1', '1e+21', '5e3', '1.5'],
  ...['"0"', '"1"', '"007"', '"-0"', '"-1"', '"+1"', '"1.0"', '"1e2"', '"0x1"', '"0xFf"', '"0X1"', '"18446744073709551615"', '" 1"'],
  ...[`"${'0'.repeat(39)}1"`, `"${'0'.repeat(77)}1"`, `"${'0'.repeat(99)}1"`, `"-${'0'.repeat(39)}1"`, `"0x${'f'.repeat(32)}"`],
  ...['""', '"0x"', '"00"', '"0x00"', '"0xABcd"', '"abc"', `"${digits}"`, `"0x${digits}"`, `"${digits.toUpperCase()}"`],
  ...[`"02${digits}"`, `"0x02${digits}"`, `"${publicKey}"`, `"0x${publicKey}"`],
  ...['[]', '[0]', '[1.0]', '[255,-0,2e0]', '[256]', bytes32('0'), bytes32('255'), bytes32('1.0'), bytes32('-0'), bytes32('1e2')],
  ...[
    'true',
    'false',
    '{}',
    '{"jsonrpc":1}',
    '[1,"a",null]',
    'null',
    '"AA=="',
    '"AAA="',
    '"AAAA"',
    '"a"',
    '"text"',
    '"h\\u00e9 \\ud83d\\ude00"',
  ],
  ...[
    '"2099-01-01T00:00:00Z"',
    '"2099-01-01t00:00:00.123456789z"',
    '"2099-01-01T00:00:00+02:00"',
    '"2099-01-01 00:00:00Z"',
    '"4102444800"',
  ],
  ...[`"0x${'1'.repeat(40)}"`, `"0x${'F'.repeat(40)}"`, `"${'1'.repeat(32)}"`, '"11111111111111111111111111111112"'],
  ...[
    `"${stellarAccount}"`,
    `"M${'A'.repeat(68)}"`,
    `"C${'A'.repeat(55)}"`,
    '"PADQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOAAAAACGCYTDMRT66"',
    `"00000000${'ab'.repeat(32)}"`,
    `"B${'A'.repeat(57)}"`,
    '"USD"',
    '"USDCOIN"',
    '"transfer"',
    '"payment"',
    '"native"',
  ],
  ...['"http://a"', '"HTTPS://example.com:1/a?b#c"', '"https://example.com/hook"', '"http://[::1]"', '"2.0"', '"void"', '"example.com"'],
  ...['"eu-central-1"', '"alias/key"', '"project-1"', '"k"', '"ab/cd"', `"${'A'.repeat(43)}="`, `"${'A'.repeat(43)}"`],
];

const codecs = new CodecCompiler();
const schemas = new SchemaCompiler();
const fields = fieldsOfBodies();
const { validatorOf, isNullValid } = compileValidators();

describe('the schemas of requests', () => {
  it('the schemas of requests: accept every spelling that the service reads in each field', () => {
    const denied: string[] = [];
    for (const field of fields) {
      const isValid = validatorOf(field);
      const read = spellingsFor(field).filter((text) => isRead(field, text) && !isBeyondLimit(field, text));
      if (field.message === undefined) assert.notEqual(read.length, 0, `the service reads none of the spellings in ${field}`);
      denied.push(...read.filter((text) => !isValid(JSON.parse(text))).map((text) => `${field}: ${text}`));
    }
    assert.deepEqual(denied, []);
  });

  it('the schemas of requests: accept null in every field that is not required', () => {
    const denied = Object.entries(schemas.schemas).flatMap(([name, { properties = {}, required = [], minProperties }]) =>
      // One key of these is the value.
      minProperties === undefined
        ? Object.keys(properties as Schema)
            .filter((key) => !(required as readonly string[]).includes(key) && !isNullValid(name, key))
            .map((key) => `${name}.${key}`)
        : [],
    );
    assert.deepEqual(denied, []);
  });
});

function isRead(field: DescField, text: string): boolean {
  const codec = codecs.field(field);
  const value = jsonFromText(text);
  if (value === null) return codec.readsNull === true;
  // Whether something is missing is checked later: a key of an object, or a text. The keys of an object are fields of their own.
  const held = field.fieldKind === 'list' && Array.isArray(value) ? value[0] : value;
  if (held instanceof Map && field.message !== undefined) return false;
  if (held === '' && (field.message !== undefined || textSyntaxOf(field) !== undefined)) return false;
  // Clients have an integer type for these fields, so a string is not documented.
  if (typeof value === 'string' && isNumberInClients(field)) return false;
  const reading = new Reading(undefined, []);
  codec.read(value, 'x', reading);
  return reading.problem === null;
}

function isNumberInClients(field: DescField): boolean {
  const isDuration = field.message?.typeName === DurationSchema.typeName;
  return isDuration || (fieldRulesOf(field).number && field.scalar !== ScalarType.STRING && allowedRangeOf(field).max < 2n ** 63n);
}

/** The spellings, and those of the field's own values. */
function spellingsFor(field: DescField): readonly string[] {
  const own = field.enum === undefined ? [] : [...enumTextsOf(field.enum).values()].map((text) => JSON.stringify(text));
  if (integerRangeOf(scalarTypeOf(field)) !== undefined) {
    const { min, max } = allowedRangeOf(field);
    own.push(...[min, max].flatMap((limit) => [`${limit}`, `${limit}.0`, `"${limit}"`]));
  }
  const items = [...spellings, ...own];
  return field.fieldKind === 'list' ? [...items, ...items.map((item) => `[${item}]`)] : items;
}

/** Sizes are limited by the domain: another test compares them with the document. */
function isBeyondLimit(field: DescField, text: string): boolean {
  const { maxLength, maxItems, minItems, min } = fieldRulesOf(field);
  const value: unknown = JSON.parse(text);
  if (Array.isArray(value) && field.fieldKind === 'list') return (maxItems > 0 && value.length > maxItems) || value.length < minItems;
  if (min === 1n && fieldRulesOf(field).amount) return BigInt(Number(value)) < 1n;
  return maxLength > 0 && typeof value === 'string' && value.length > maxLength;
}

/** The fields of all bodies, those of messages in them included. */
function fieldsOfBodies(): readonly DescField[] {
  const found: DescField[] = [];
  const seen = new Set<DescMessage>();
  const look = (desc: DescMessage, isSkipped: (field: DescField) => boolean): void => {
    if (seen.has(desc) || desc.typeName.startsWith('google.protobuf.')) return;
    seen.add(desc);
    for (const field of desc.fields) {
      // The content of fields that hold JSON is checked later.
      if (isSkipped(field) || fieldRulesOf(field).rpcOnly || fieldRulesOf(field).json) continue;
      found.push(field);
      if (field.message !== undefined) look(field.message, () => false);
    }
  };
  const plans = compileMethodPlans(createServices({ store: { read: {} } } as never).map(({ service }) => service));
  for (const { http, method } of plans)
    if (http?.hasBody === true) look(method.input, ({ name }) => http.template.includes(`{${name}}`) || name === 'update_mask');
  return found;
}

function compileValidators() {
  const properties = Object.fromEntries(fields.map((field): [string, Schema] => [String(field), schemas.field(field, 'request')]));
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(JSON.parse(documentText({ properties, components: { schemas: schemas.schemas } })), 'document');
  const validator = (...place: string[]) =>
    ajv.getSchema(`document#/${place.map(encodeURIComponent).join('/')}`) ?? assert.fail(place.join(' '));
  return {
    validatorOf: (field: DescField) => validator('properties', String(field)),
    isNullValid: (name: string, key: string) => validator('components', 'schemas', name, 'properties', key)(null),
  };
}
