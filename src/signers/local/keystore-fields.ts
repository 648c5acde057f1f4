import { JsonError, jsonFromText } from '../../json/json-reader.js';
import { integerDigitsOf, JsonNumber, type JsonValue } from '../../json/json-value.js';
import { KeystoreError } from './keystore-error.js';

/**
 * The fields of an object of a keystore. A field that is missing or malformed is noted. The value read for it is then of no use:
 * `readKeystoreFields` throws one error that names all of them.
 */
export interface KeystoreFields {
  has(name: string): boolean;
  /** A text or number that is one of these; undefined if it is none of them. */
  oneOf<T extends string | number>(name: string, choices: readonly T[]): T | undefined;
  /** A text that matches the pattern. */
  text(name: string, pattern: RegExp): string;
  /** An integer from `min` to `max`. */
  integer(name: string, min: number, max?: number): number;
  /** The fields of an object within this one. */
  within(name: string): KeystoreFields;
}

/** Parses the text of a keystore. Throws `KeystoreError` `malformed`, which quotes no value. */
export function valueFromKeystoreJson(json: string): JsonValue {
  try {
    return jsonFromText(json);
  } catch (error) {
    if (error instanceof JsonError) throw new KeystoreError('malformed', `the keystore ${error.message}`);
    throw error;
  }
}

/**
 * Reads the fields of a keystore, whose format is named in the error, such as "a version 3 keystore". Throws `KeystoreError` `malformed`,
 * which names the fields and never their values.
 */
export function readKeystoreFields<T>(value: JsonValue, format: string, read: (fields: KeystoreFields) => T): T {
  const wrong = new Set<string>();
  const result = read(fieldsOf(value, '', wrong));
  if (wrong.size === 0) return result;
  throw new KeystoreError('malformed', `the keystore is not ${format}; missing or malformed: ${[...wrong].join(', ')}`);
}

/** The pattern of a number of bytes in hex, with or without 0x. */
export function hexPattern(bytes: number): RegExp {
  return new RegExp(`^(?:0x)?[0-9a-fA-F]{${bytes * 2}}$`);
}

/** `path`: of the object, within the file. */
function fieldsOf(value: JsonValue | undefined, path: string, wrong: Set<string>): KeystoreFields {
  const object = value instanceof Map ? value : null;
  if (object === null) wrong.add(path === '' ? 'the whole file' : path);
  const pathOf = (name: string) => (path === '' ? name : `${path}.${name}`);

  function checked<T>(name: string, found: T | undefined, otherwise: T): T {
    if (found !== undefined) return found;
    // Of an object that is missing, the object alone is named.
    if (object !== null) wrong.add(pathOf(name));
    return otherwise;
  }

  return {
    has: (name) => object?.has(name) === true,
    oneOf(name, choices) {
      const found = object?.get(name);
      const choice = choices.find((one) => one === found);
      return checked(name, choice, undefined);
    },
    text(name, pattern) {
      const found = object?.get(name);
      return checked(name, typeof found === 'string' && pattern.test(found) ? found : undefined, '');
    },
    integer(name, min, max = Number.MAX_SAFE_INTEGER) {
      const found = integerFrom(object?.get(name));
      return checked(name, found >= min && found <= max ? found : undefined, min);
    },
    within: (name) => (object === null ? fieldsOf(new Map(), path, new Set()) : fieldsOf(object.get(name), pathOf(name), wrong)),
  };
}

/** NaN if the value is not an integer. */
function integerFrom(value: JsonValue | undefined): number {
  if (value instanceof JsonNumber) return Number(integerDigitsOf(value.text) ?? Number.NaN);
  return typeof value === 'number' ? value : Number.NaN;
}
