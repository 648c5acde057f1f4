import { type DescField, ScalarType } from '@bufbuild/protobuf';
import { TimestampSchema } from '@bufbuild/protobuf/wkt';
import { JsonNumber } from '../json/json-value.js';
import { enumDescription, enumTextsOf } from './enum-codec.js';
import { allowedRangeOf, rangeDescription } from './field-bounds.js';
import { integerRangeOf, scalarTypeOf } from './field-rules.js';
import type { Reading } from './reading.js';
import { integerCodec, timestampCodec } from './scalar-codecs.js';

/** Reads a value from a path segment or a query parameter; undefined, with the problem noted, if it does not parse. */
export type TextReader = (text: string, name: string, reading: Reading) => unknown;

/** As long as the longest 64-bit integer. */
const integerPattern = /^-?[0-9]{1,20}$/;

/**
 * Returns the reader of a field, or of its items: text, integers, times, enum texts in any case, `true` and `false`. Throws for fields of
 * other types.
 */
export function textReaderOf(field: DescField): TextReader {
  if (field.enum !== undefined) {
    const texts = enumTextsOf(field.enum);
    const numbers = new Map([...texts].map(([number, text]) => [text.toLowerCase(), number]));
    const description = enumDescription(texts);
    return (text, name, reading) => numbers.get(text.toLowerCase()) ?? reading.refuse(name, description);
  }
  if (field.message?.typeName === TimestampSchema.typeName) {
    const codec = timestampCodec(field);
    return (text, name, reading) => codec.read(text, name, reading);
  }
  const scalar = scalarTypeOf(field);
  if (scalar === ScalarType.STRING) return (text) => text;
  if (scalar === ScalarType.BOOL)
    return (text, name, reading) => (text === 'true' || text === 'false' ? text === 'true' : reading.refuse(name, 'must be true or false'));
  if (integerRangeOf(scalar) === undefined) throw new Error(`${field} is of a type that a path or a query cannot hold`);
  const description = rangeDescription(allowedRangeOf(field));
  const codec = integerCodec(field);
  return (text, name, reading) =>
    integerPattern.test(text) ? codec.read(new JsonNumber(text), name, reading) : reading.refuse(name, description);
}
