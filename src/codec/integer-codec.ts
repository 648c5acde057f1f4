import type { DescField } from '@bufbuild/protobuf';
import type { JsonValue } from '../json/json-value.js';
import { allowedRangeOf, rangeDescription } from './field-bounds.js';
import { fieldRulesOf, integerRangeOf, isLong, scalarTypeOf } from './field-rules.js';
import { integerDigitsIn } from './string-codec.js';
import type { ValueCodec } from './value-codec.js';

/** No 64-bit integer has more characters, save for zeros in front. */
const maxLongCharacters = 40;

const integerPattern = /^-?[0-9]+$/;

/**
 * The codec of an integer field, or of its items. Read exactly: from an integer token, or (64 bits) decimal digits in a string too. 64 bits
 * are written as a string, or with `number` as a JSON number. What its type cannot hold is refused here, what its rules forbid by the bounds
 * check, in the same words.
 */
export function integerCodec(field: DescField): ValueCodec {
  const range = integerRangeOf(scalarTypeOf(field));
  if (range === undefined) throw new Error(`${field} is no integer`);
  const description = rangeDescription(allowedRangeOf(field));
  const long = isLong(range);
  const quoted = long && !fieldRulesOf(field).number;
  return {
    read(value, path, reading) {
      const digits = integerDigitsIn(value) ?? (long ? digitsInString(value) : undefined);
      if (digits === undefined) return reading.refuse(path, description);
      const integer = BigInt(digits);
      if (integer < range.min || integer > range.max) return reading.refuse(path, description);
      return long ? integer : Number(integer);
    },
    write: quoted ? (value) => `"${value}"` : String,
  };
}

function digitsInString(value: JsonValue): string | undefined {
  return typeof value === 'string' && value.length <= maxLongCharacters && integerPattern.test(value) ? value : undefined;
}
