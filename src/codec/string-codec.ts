import { JsonNumber, type JsonValue, jsonTextOf } from '../json/json-value.js';
import { amountDescription } from './field-bounds.js';
import { integerDigitsOf } from './integer-token.js';
import type { Reading } from './reading.js';
import type { ValueCodec } from './value-codec.js';

/** Half of a surrogate pair, which JSON can escape but UTF-8 cannot hold. */
const loneSurrogate = /\p{Surrogate}/u;

/** As long as the longest integer token that is read. */
const integerPattern = /^-?[0-9]{1,100}$/;
const canonicalIntegerPattern = /^(?:0|-?[1-9][0-9]*)$/;

/** Plain text. */
export const stringCodec: ValueCodec = {
  read(value, path, reading) {
    if (typeof value !== 'string') return reading.refuse(path, 'must be a string');
    if (loneSurrogate.test(value)) return reading.refuse(path, 'must be well-formed Unicode text');
    return value;
  },
  write: JSON.stringify,
};

/** Digits in a string field, written as a JSON number of any size. */
export const numberStringCodec: ValueCodec = {
  read(value, path, reading) {
    const digits = typeof value === 'string' && integerPattern.test(value) ? value : integerDigitsIn(value);
    return digits ?? reading.refuse(path, 'must be an integer');
  },
  write: (value) => integerText(value as string),
};

/**
 * An amount: integer tokens are read exactly into digits, strings as they are. What else it must be is for the bounds check, which RPC shares;
 * a token that is no integer, or has a minus (`-0` too, as the string `"-0"`), goes there as its own text.
 */
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
  // The empty text, a field that was not set, would be no JSON.
  write: (value) => (value as string) || 'null',
  readsNull: true,
};

function readAmount(value: JsonValue, path: string, reading: Reading): string | undefined {
  if (typeof value === 'string') return value;
  if (value instanceof JsonNumber) return (value.text.startsWith('-') ? undefined : integerDigitsOf(value.text)) ?? value.text;
  return typeof value === 'number' ? String(value) : reading.refuse(path, amountDescription);
}

/** The digits of a number token that denotes an integer. */
export function integerDigitsIn(value: JsonValue): string | undefined {
  if (typeof value === 'number') return String(value);
  return value instanceof JsonNumber ? integerDigitsOf(value.text) : undefined;
}

function integerText(digits: string): string {
  if (canonicalIntegerPattern.test(digits)) return digits;
  // Also `0x...`; the empty text, a field that was not set, is 0. Anything else throws: it is our fault, and no JSON.
  return BigInt(digits).toString();
}
