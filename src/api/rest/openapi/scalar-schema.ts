import { type DescField, ScalarType } from '@bufbuild/protobuf';
import { allowedRangeOf } from '../../../codec/field-bounds.js';
import { fieldRulesOf, type IntegerRange, integerRangeOf, isLong, scalarTypeOf } from '../../../codec/field-rules.js';
import type { Schema } from './schema.js';

/** Whether the JSON is a request or a response: REST reads more forms than it writes. */
export type Direction = 'request' | 'answer';

const amountBounds = { minimum: 0n, maximum: 2n ** 128n - 1n };
const amountPattern = '^(?:[0-9]{1,78}|0x[0-9a-fA-F]{1,64})$';
const byteArray: Schema = { type: 'array', items: { type: 'integer', minimum: 0, maximum: 255 } };

/** Returns the schema of a scalar field or of its items, as the codec reads or writes it. */
export function scalarSchema(field: DescField, direction: Direction): Schema {
  const { hex, json, amount, number } = fieldRulesOf(field);
  const scalar = scalarTypeOf(field);
  const isRequest = direction === 'request';
  if (scalar === ScalarType.BOOL) return { type: 'boolean' };
  if (scalar === ScalarType.BYTES && !hex) return { type: 'string', contentEncoding: 'base64' };
  if (scalar === ScalarType.BYTES) {
    return isRequest
      ? { anyOf: [{ type: 'string', pattern: '^(?:0x)?(?:[0-9a-fA-F]{2})*$' }, byteArray] }
      : { type: 'string', pattern: '^(?:[0-9a-f]{2})*$' };
  }
  if (scalar !== ScalarType.STRING) return integerSchema(field, direction);
  // Any JSON value.
  if (json) return {};
  if (amount && isRequest) return { type: ['integer', 'string'], ...amountBounds, pattern: amountPattern };
  if (number) return isRequest ? { type: ['integer', 'string'], pattern: '^-?[0-9]{1,100}$' } : { type: 'integer' };
  return { type: 'string' };
}

/** Returns the schema of an integer in a path or query. */
export function integerTextSchema(field: DescField): Schema {
  return { type: 'integer', ...boundsOf(allowedRangeOf(field)) };
}

function integerSchema(field: DescField, direction: Direction): Schema {
  const range = integerRangeOf(scalarTypeOf(field));
  if (range === undefined) throw new Error(`${field} is of a type that has no REST form`);
  const format = `${range.min === 0n ? 'u' : ''}int${isLong(range) ? 64 : 32}`;
  if (direction === 'answer') {
    const quoted = isLong(range) && !fieldRulesOf(field).number;
    return quoted ? { type: 'string', pattern: '^-?[0-9]+$' } : { type: 'integer', format };
  }
  const bounds = boundsOf(allowedRangeOf(field));
  return isLong(range)
    ? { type: ['integer', 'string'], format, ...bounds, pattern: '^-?[0-9]{1,40}$' }
    : { type: 'integer', format, ...bounds };
}

function boundsOf({ min, max }: IntegerRange): { readonly minimum: bigint; readonly maximum: bigint } {
  return { minimum: min, maximum: max };
}
