import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescOneof,
  fromJsonString,
  type Registry,
  ScalarType,
} from '@bufbuild/protobuf';
import { base64Decode } from '@bufbuild/protobuf/wire';
import { DurationSchema, FieldMaskSchema, TimestampSchema } from '@bufbuild/protobuf/wkt';
import { integerDigitsOf, JsonNumber, type JsonObject, type JsonValue, jsonTextOf } from '../json/json-value.js';
import { allowedRangeOf, rangeDescription } from './field-bounds.js';
import { fieldRulesOf, type IntegerRange, integerRangeOf, isLong, scalarTypeOf } from './field-rules.js';
import type { Reading } from './reading.js';
import { pathsInCamelCase } from './update-mask.js';

/** Describes a valid list with the option `non_empty`, for errors. */
export const nonEmptyDescription = 'must not be empty; leave it out to allow all';

/** No 64-bit integer has more characters, except for zeros in front. */
export const maxLongCharacters = 40;

/** A string so long that it cannot be a 64-bit integer, though it may be hexadecimal data. */
const longDigits = /"(?:[\s+\-0-9]|\\u00[23][0-9a-fA-F]){41}/;

/** A number token that is not a plain integer of at most 15 digits: protobuf's reader rounds it to a double before it sees the value. */
const inexactToken = /[[:,]\s*-?(?:[0-9]{16}|[0-9]{1,15}[.eE])/;

/** An ASCII character of a key may be escaped, which hides the name. */
const hiddenName = /\\u00[2-7][0-9a-fA-F]/;

/** Half of a surrogate pair, which JSON can escape but UTF-8 cannot hold. */
const surrogateEscape = /\\u[dD][89a-fA-F]/;
const loneSurrogate = /\p{Surrogate}/u;

/** Types with a JSON form of their own, and what it must be. Others are described by their name. */
const wellKnown: ReadonlyMap<string, string> = new Map([
  [TimestampSchema.typeName, 'must be an RFC 3339 time, such as 2030-01-31T12:00:00Z'],
  [DurationSchema.typeName, 'must be seconds, such as 1.5s'],
  [FieldMaskSchema.typeName, 'must be field paths, separated by commas'],
]);

const scalars: ReadonlyMap<ScalarType, string> = new Map([
  [ScalarType.STRING, 'must be a string'],
  [ScalarType.BOOL, 'must be true or false'],
  [ScalarType.BYTES, 'must be base64'],
  [ScalarType.DOUBLE, 'must be a number'],
  [ScalarType.FLOAT, 'must be a number'],
]);

/**
 * Reads protobuf JSON if protobuf's own reader is not good enough. That reader stops at the first mistake, and names it in a sentence only.
 * It takes a list with the option `non_empty` that is `[]` for one that is not set, which allows everything. It converts a 64-bit integer
 * of more digits than any has before it refuses it, in up to a third of a second. It rounds number tokens to doubles, and accepts half of a
 * surrogate pair.
 */
export class ProtobufJson {
  readonly #desc: DescMessage;
  readonly #registry: Registry | undefined;
  /** Names of lists that must not be empty. */
  readonly #lists = new Set<string>();

  /** `registry` has the messages that a `google.protobuf.Any` may hold. */
  constructor(desc: DescMessage, registry: Registry | undefined) {
    this.#desc = desc;
    this.#registry = registry;
    this.#collect(desc, new Set());
  }

  /** True if protobuf's reader may accept what must be refused, or take long to refuse it. */
  needsReading(text: string): boolean {
    return (
      longDigits.test(text) ||
      inexactToken.test(text) ||
      surrogateEscape.test(text) ||
      (this.#lists.size > 0 && (hiddenName.test(text) || [...this.#lists].some((name) => text.includes(name))))
    );
  }

  /**
   * Notes everything that is wrong with a message, under its field's path by proto names, and returns the JSON of what fits, so that the
   * rest can still be checked.
   */
  read(json: JsonObject, reading: Reading): JsonObject {
    return this.#message(this.#desc, json, '', reading);
  }

  #collect(desc: DescMessage, seen: Set<DescMessage>): void {
    if (seen.has(desc)) return;
    seen.add(desc);
    for (const field of desc.fields) {
      if (fieldRulesOf(field).nonEmpty) this.#lists.add(field.name).add(field.jsonName);
      if (field.message !== undefined) this.#collect(field.message, seen);
    }
  }

  #message(desc: DescMessage, object: JsonObject, prefix: string, reading: Reading): JsonObject {
    const fitting: JsonObject = new Map();
    const given = new Set<DescField>();
    const chosen = new Map<DescOneof, DescField>();
    for (const [key, value] of object) {
      if (reading.isHopeless) break;
      const field = desc.fields.find(({ name, jsonName }) => name === key || jsonName === key);
      if (field === undefined) {
        reading.refuseUnknown(
          prefix,
          key,
          desc.fields.map(({ jsonName }) => jsonName),
        );
        continue;
      }
      // Absent, as protobuf JSON has it.
      if (value === null && !this.#readsNull(field)) continue;
      const path = prefix + field.name;
      const other = field.oneof && chosen.get(field.oneof);
      if (given.has(field)) reading.refuse(path, 'is given twice, by both of its names');
      else if (other !== undefined) reading.refuse(path, `must not be set together with ${other.name}`);
      else {
        const fits = this.#field(field, value, path, reading);
        if (fits !== undefined) fitting.set(key, fits);
      }
      given.add(field);
      if (field.oneof !== undefined) chosen.set(field.oneof, field);
    }
    return fitting;
  }

  #field(field: DescField, value: JsonValue, path: string, reading: Reading): JsonValue | undefined {
    if (field.fieldKind !== 'list') return this.#value(field, value, path, reading);
    if (!Array.isArray(value)) return reading.refuse(path, 'must be an array');
    if (fieldRulesOf(field).nonEmpty && value.length === 0) return reading.refuse(path, nonEmptyDescription);
    const items: JsonValue[] = [];
    for (const [index, item] of value.entries()) {
      const fits = this.#value(field, item, `${path}[${index}]`, reading);
      if (reading.isHopeless) return undefined;
      // An item that does not fit keeps its place, so that the others keep their paths.
      items.push(fits ?? standInFor(field));
    }
    return items;
  }

  /** Reads the value of a field, or one of its items. */
  #value(field: DescField, value: JsonValue, path: string, reading: Reading): JsonValue | undefined {
    const { message } = field;
    if (message !== undefined && field.fieldKind !== 'map' && !message.typeName.startsWith('google.protobuf.')) {
      return value instanceof Map ? this.#message(message, value, `${path}.`, reading) : reading.refuse(path, 'must be an object');
    }
    if (typeof value === 'string' && loneSurrogate.test(value)) return reading.refuse(path, 'must be well-formed Unicode text');
    const range = integerRangeOf(scalarTypeOf(field));
    const fits = range === undefined ? this.#fitting(field, value) : integerFitting(range, value);
    return fits ?? reading.refuse(path, descriptionOf(field, range));
  }

  /** Returns the value of a field that is no integer; undefined if it does not fit. */
  #fitting(field: DescField, value: JsonValue): JsonValue | undefined {
    if (field.enum !== undefined) return fitsEnum(field.enum, value) ? value : undefined;
    switch (field.scalar) {
      case ScalarType.STRING:
        return typeof value === 'string' ? value : undefined;
      case ScalarType.BOOL:
        return typeof value === 'boolean' ? value : undefined;
      case ScalarType.BYTES:
        return typeof value === 'string' && isBase64(value) ? value : undefined;
      default:
        return this.#asRead(field, value);
    }
  }

  /** Returns the value of a field, or of one of its items, in a form that protobuf's own reader takes; undefined if there is none. */
  #asRead(field: DescField, value: JsonValue): JsonValue | undefined {
    const isMask = field.message?.typeName === FieldMaskSchema.typeName && typeof value === 'string';
    const spelt = isMask ? pathsInCamelCase(value) : value;
    const text = jsonTextOf(spelt);
    try {
      fromJsonString(field.parent, `{"${field.name}":${field.fieldKind === 'list' ? `[${text}]` : text}}`, { registry: this.#registry });
      return spelt;
    } catch {
      return undefined;
    }
  }

  /** True for the only types that have `null` as a value. */
  #readsNull(field: DescField): boolean {
    return field.message?.typeName === 'google.protobuf.Value' || field.enum?.typeName === 'google.protobuf.NullValue';
  }
}

/**
 * Returns an integer that fits a range, in the forms that protobuf's reader takes; undefined for anything else. Of a number token every
 * digit counts.
 */
function integerFitting(range: IntegerRange, value: JsonValue): JsonValue | undefined {
  const digits = value instanceof JsonNumber ? integerDigitsOf(value.text) : value;
  if (typeof digits === 'number') return isWithin(range, BigInt(digits)) ? digits : undefined;
  if (typeof digits !== 'string' || digits === '' || digits.length > maxLongCharacters) return undefined;
  try {
    // A 32-bit integer in a string may have a fraction or an exponent, a 64-bit one may not.
    const integer = isLong(range) ? BigInt(digits) : BigInt(digits.trim() === digits ? Number(digits) : Number.NaN);
    return isWithin(range, integer) ? digits : undefined;
  } catch {
    return undefined;
  }
}

function isWithin({ min, max }: IntegerRange, integer: bigint): boolean {
  return integer >= min && integer <= max;
}

/** Numbers without a name fit: they are refused later, as in binary messages. */
function fitsEnum(desc: DescEnum, value: JsonValue): boolean {
  if (typeof value === 'string') return desc.values.some(({ name }) => name === value);
  const number = value instanceof JsonNumber ? Number(value.text) : value;
  return typeof number === 'number' && (number | 0) === number;
}

function isBase64(text: string): boolean {
  try {
    base64Decode(text);
    return true;
  } catch {
    return false;
  }
}

function descriptionOf(field: DescField, range: IntegerRange | undefined): string {
  if (range !== undefined) return rangeDescription(allowedRangeOf(field));
  if (field.enum !== undefined) {
    const names = field.enum.values.filter(({ number }) => number !== 0).map(({ name }) => name);
    return `must be one of ${names.join(', ')}`;
  }
  if (field.scalar !== undefined) return scalars.get(field.scalar) ?? 'does not fit its type';
  return wellKnown.get(field.message?.typeName ?? '') ?? `must be the JSON form of ${field.message?.typeName ?? 'its type'}`;
}

/** Returns a value that fits a list whose item was refused. */
function standInFor(field: DescField): JsonValue {
  if (field.message !== undefined) return new Map();
  if (field.scalar === ScalarType.BOOL) return false;
  return field.scalar === ScalarType.STRING || field.scalar === ScalarType.BYTES ? '' : new JsonNumber('0');
}
