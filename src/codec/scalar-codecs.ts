import { create, type DescField } from '@bufbuild/protobuf';
import { base64Encode } from '@bufbuild/protobuf/wire';
import { type Duration, durationFromMs, durationMs, type Timestamp, TimestampSchema } from '@bufbuild/protobuf/wkt';
import { instantFromRfc3339, rfc3339Pattern } from '../core/text/rfc3339.js';
import { textProblem } from '../core/text/text-syntax.js';
import { integerDigitsOf, JsonNumber, type JsonValue, jsonTextOf } from '../json/json-value.js';
import { allowedRangeOf, amountDescription, isAmount, rangeDescription } from './field-bounds.js';
import {
  fieldRulesOf,
  type IntegerRange,
  integerRangeOf,
  isLong,
  isUnsetIfEmpty,
  lengthDescription,
  scalarTypeOf,
  textSyntaxOf,
} from './field-rules.js';
import { maxLongCharacters } from './protobuf-json.js';
import type { Reading, ValueCodec } from './reading.js';

/** Half of a surrogate pair, which JSON can escape but UTF-8 cannot hold. */
const loneSurrogate = /\p{Surrogate}/u;

export const hexPattern = /^(?:0x)?((?:[0-9a-fA-F]{2})*)$/;

/** Standard alphabet, padded to four characters. */
const base64Pattern = /^[A-Za-z0-9+/]*={0,2}$/;

/** Decimal digits of a 64-bit integer. */
export const longPattern = new RegExp(`^-?[0-9]{1,${maxLongCharacters}}$`);

/** Later seconds than these eleven digits have no RFC 3339 text. */
const unixSecondsPattern = /^[0-9]{1,11}$/;

/** The maximum milliseconds that a double holds exactly, which is more than 285,000 years. */
const maxDurationMs = BigInt(Number.MAX_SAFE_INTEGER);

/** Matches a time that may also be Unix seconds. */
export const timePattern = new RegExp(`${rfc3339Pattern.source}|${unixSecondsPattern.source}`);

/** The milliseconds that a duration may have. */
export function durationRangeOf(field: DescField): IntegerRange {
  const { min = 0n, max = maxDurationMs } = fieldRulesOf(field);
  return { min, max };
}

/** As long as the longest integer token that is read. */
export const digitsPattern = /^-?[0-9]{1,100}$/;
const canonicalDigitsPattern = /^(?:0|-?[1-9][0-9]*)$/;

/** `true` or `false`. */
export const boolCodec: ValueCodec = {
  read: (value, path, reading) => (typeof value === 'boolean' ? value : reading.refuse(path, 'must be true or false')),
  write: String,
};

/** Plain text. */
export const stringCodec: ValueCodec = {
  read(value, path, reading) {
    if (typeof value !== 'string') return reading.refuse(path, 'must be a string');
    if (loneSurrogate.test(value)) return reading.refuse(path, 'must be well-formed Unicode text');
    return value;
  },
  write: JSON.stringify,
};

/** Returns the codec of a text field: plain text, of the field's syntax if it has one. */
export function textCodec(field: DescField): ValueCodec {
  const syntax = textSyntaxOf(field);
  if (syntax === undefined) return stringCodec;
  const acceptsEmpty = isUnsetIfEmpty(field);
  return {
    read(value, path, reading) {
      const text = stringCodec.read(value, path, reading);
      if (text === undefined || (text === '' && acceptsEmpty)) return text;
      const problem = textProblem(syntax, text as string);
      return problem === undefined ? text : reading.refuse(path, problem);
    },
    write: stringCodec.write,
  };
}

/** Returns the codec of bytes as lower-case hexadecimal; also read with `0x` in front, or as an array of integers from 0 to 255. */
export function hexCodec(field: DescField): ValueCodec {
  const { length } = fieldRulesOf(field);
  return {
    read(value, path, reading) {
      const bytes = bytesFromHex(value, path, reading);
      return bytes === undefined || length === 0 || bytes.length === length ? bytes : reading.refuse(path, lengthDescription(length));
    },
    write: (value) => `"${Buffer.from(value as Uint8Array).toString('hex')}"`,
  };
}

function bytesFromHex(value: JsonValue, path: string, reading: Reading): Uint8Array | undefined {
  if (Array.isArray(value)) {
    const bytes = value.map(byteIn);
    return bytes.includes(undefined)
      ? reading.refuse(path, 'must have integers from 0 to 255 only')
      : Uint8Array.from(bytes as readonly number[]);
  }
  const digits = typeof value === 'string' ? hexPattern.exec(value)?.[1] : undefined;
  if (digits === undefined)
    return reading.refuse(path, 'must be hexadecimal, with an even number of digits, or an array of integers from 0 to 255');
  return new Uint8Array(Buffer.from(digits, 'hex'));
}

/** Bytes as base64. */
export const base64Codec: ValueCodec = {
  read(value, path, reading) {
    if (typeof value !== 'string' || value.length % 4 !== 0 || !base64Pattern.test(value)) return reading.refuse(path, 'must be base64');
    return new Uint8Array(Buffer.from(value, 'base64'));
  },
  write: (value) => `"${base64Encode(value as Uint8Array)}"`,
};

/** Digits in a string field, written as a JSON number of any size. */
export const numberStringCodec: ValueCodec = {
  read(value, path, reading) {
    const digits = typeof value === 'string' && digitsPattern.test(value) ? value : integerDigitsIn(value);
    return digits ?? reading.refuse(path, 'must be an integer');
  },
  write: (value) => integerText(value as string),
};

/** An amount, written as a string: read from a string, or exactly from an integer token. */
export const amountCodec: ValueCodec = {
  read: readAmount,
  write: JSON.stringify,
};

/** An amount that is written as a JSON number. */
export const numberAmountCodec: ValueCodec = {
  read: readAmount,
  write: (value) => integerText(value as string),
};

/** JSON text in a string field. */
export const jsonCodec: ValueCodec = {
  read: jsonTextOf,
  // A field that is not set is the empty text, which is not JSON.
  write: (value) => (value as string) || 'null',
  readsNull: true,
};

/** A time: RFC 3339, written in UTC with `Z` and three digits. With the option `unix_seconds`, also read from digits. */
export function timestampCodec(field: DescField): ValueCodec {
  const { unixSeconds } = fieldRulesOf(field);
  return {
    read(value, path, reading) {
      if (typeof value !== 'string') return reading.refuse(path, 'must be a string');
      if (unixSeconds && unixSecondsPattern.test(value)) return create(TimestampSchema, { seconds: BigInt(value) });
      return timestampFrom(value) ?? reading.refuse(path, 'must be an RFC 3339 time, such as 2030-01-31T12:00:00Z');
    },
    write: (value) => `"${new Date(timeMsOf(value as Timestamp)).toISOString()}"`,
  };
}

/** Returns a time in whole milliseconds since the epoch, cut off as its text is. */
export function timeMsOf({ seconds, nanos }: Timestamp): number {
  return Number(seconds) * 1000 + Math.floor(nanos / 1e6);
}

/** A duration: an integer of milliseconds. */
export function durationCodec(field: DescField): ValueCodec {
  const { min, max } = durationRangeOf(field);
  const description = rangeDescription({ min, max });
  return {
    read(value, path, reading) {
      const digits = integerDigitsIn(value) ?? digitsInString(value);
      const timeMs = digits === undefined ? undefined : BigInt(digits);
      if (timeMs === undefined || timeMs < min || timeMs > max) return reading.refuse(path, description);
      return durationFromMs(Number(timeMs));
    },
    write: (value) => String(durationMs(value as Duration)),
  };
}

/**
 * Returns the codec of an integer field, or of its items. It reads an integer token exactly, and 64-bit integers from decimal digits in a
 * string too. 64-bit integers are written as a string, or with the option `number` as a JSON number.
 */
export function integerCodec(field: DescField): ValueCodec {
  const type = integerRangeOf(scalarTypeOf(field));
  if (type === undefined) throw new Error(`${field} is not an integer`);
  const { min, max } = allowedRangeOf(field);
  const description = rangeDescription({ min, max });
  const long = isLong(type);
  const quoted = long && !fieldRulesOf(field).number;
  return {
    read(value, path, reading) {
      const digits = integerDigitsIn(value) ?? (long ? digitsInString(value) : undefined);
      if (digits === undefined) return reading.refuse(path, description);
      const integer = BigInt(digits);
      if (integer < min || integer > max) return reading.refuse(path, description);
      return long ? integer : Number(integer);
    },
    write: quoted ? (value) => `"${value}"` : String,
  };
}

function readAmount(value: JsonValue, path: string, reading: Reading): string | undefined {
  const text = typeof value === 'string' ? value : integerDigitsIn(value);
  return text !== undefined && isAmount(text) ? text : reading.refuse(path, amountDescription);
}

/** The digits of a number token that denotes an integer. */
function integerDigitsIn(value: JsonValue): string | undefined {
  if (typeof value === 'number') return String(value);
  return value instanceof JsonNumber ? integerDigitsOf(value.text) : undefined;
}

function digitsInString(value: JsonValue): string | undefined {
  return typeof value === 'string' && longPattern.test(value) ? value : undefined;
}

function integerText(digits: string): string {
  if (canonicalDigitsPattern.test(digits)) return digits;
  // Also `0x...`; a field that is not set is the empty text, 0. Anything else throws: it is our fault.
  return BigInt(digits).toString();
}

function byteIn(value: JsonValue): number | undefined {
  const byte = typeof value === 'number' ? value : Number(integerDigitsIn(value));
  return byte >= 0 && byte <= 255 ? byte : undefined;
}

function timestampFrom(text: string): Timestamp | undefined {
  const instant = instantFromRfc3339(text);
  return instant && create(TimestampSchema, { seconds: BigInt(instant.seconds), nanos: instant.nanos });
}
