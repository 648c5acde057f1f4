import type { ParamType } from 'ethers/abi';
import { invalidField } from '../../core/errors/errors.js';
import { readEach } from '../../core/errors/read-all.js';
import { shownName } from '../../core/text/safe-text.js';
import { integerDigitsOf, JsonNumber, type JsonValue, jsonTextOf } from '../../json/json-value.js';
import { readAddress } from './address.js';

/** A value as ethers encodes it. */
export type AbiValue = boolean | string | bigint | readonly AbiValue[];

/** A caller's value: for ethers, and as JSON text in the shape that the caller used. */
export interface ReadValue {
  readonly value: AbiValue;
  readonly text: string;
}

/** Throws DomainError (400) once values need more words than fit. */
export type SpendWords = (words: number) => void;

const decimalDigits = /^-?[0-9]{1,78}$/;
const hexDigits = /^0x[0-9a-fA-F]{1,64}$/;
const hexBytes = /^0x(?:[0-9a-fA-F]{2})*$/;

/** Reads a value of this type. Throws one DomainError (400) that names each problem by its path. */
function readAbiValue(type: ParamType, value: JsonValue, path: string, spend: SpendWords): ReadValue {
  if (type.isArray()) return readArray(type.arrayChildren, type.arrayLength, value, path, spend);
  if (type.isTuple()) return readTuple(type.components, value, path, spend);
  spend(1);
  const refuse = (wanted: string) => invalidField(path, `must be ${wanted}; it is ${shownValue(value)}`);
  if (type.type === 'bool') {
    if (typeof value !== 'boolean') throw refuse('a bool: true or false');
    return { value, text: String(value) };
  }
  if (type.type.includes('int')) return readInteger(type.type, value, refuse);
  if (typeof value !== 'string')
    throw refuse(type.type === 'string' ? 'a string' : `${articled(type.type)}: 0x and hex digits in a string`);
  if (type.type === 'address') {
    const read = readAddress(value);
    if ('address' in read) return { value: read.address, text: JSON.stringify(read.address) };
    const isName = value.includes('.');
    throw invalidField(
      path,
      isName ? 'must be an address; ENS names are not resolved' : `is an address and ${read.problem}; it is ${shownValue(value)}`,
    );
  }
  if (type.type === 'string') {
    if (/\p{Surrogate}/u.test(value)) throw invalidField(path, 'must be well-formed Unicode text');
    spend(1 + Math.ceil(Buffer.byteLength(value) / 32));
    return { value, text: JSON.stringify(value) };
  }
  const length = type.type === 'bytes' ? null : Number(type.type.slice(5));
  if (!hexBytes.test(value)) throw refuse(`${articled(type.type)}: 0x and an even number of hex digits`);
  const bytes = value.length / 2 - 1;
  if (length !== null && bytes !== length) throw refuse(`${articled(type.type)}: 0x and ${2 * length} hex digits`);
  if (length === null) spend(1 + Math.ceil(bytes / 32));
  const lower = value.toLowerCase();
  return { value: lower, text: JSON.stringify(lower) };
}

/** Reads values of these types, from an array or from an object with their names. */
export function readTuple(types: readonly ParamType[], value: JsonValue, path: string, spend: SpendWords): ReadValue {
  const shown = types.map((type) => type.format('full')).join(', ');
  const list = shown.length > 256 ? '' : `: ${shown}`;
  if (value instanceof Map) {
    const names = new Set(types.map(({ name }) => name));
    if (names.size < types.length || (names.has('') && types.length > 0))
      throw invalidField(path, `must be an array, because not all of its values have a name of their own${list}`);
    const problems = [...value.keys()].filter((key) => !names.has(key)).slice(0, 40);
    const keys = readEach([...types.map(({ name }) => name), ...problems], (name) => {
      if (!names.has(name)) throw invalidField(`${path}.${shownName(name)}`, `is not a name of a value here${list}`);
      return name;
    });
    const read = readEach(types, (type, index) => {
      const one = value.get(keys[index] ?? '');
      if (one === undefined) throw invalidField(`${path}.${shownName(type.name)}`, `is required, ${articled(type.type)}`);
      return readAbiValue(type, one, `${path}.${shownName(type.name)}`, spend);
    });
    const members = read.map(({ text }, index) => `${JSON.stringify(types[index]?.name)}:${text}`);
    return { value: read.map((one) => one.value), text: `{${members.join(',')}}` };
  }
  if (!Array.isArray(value)) throw invalidField(path, `must be an array or an object; it is ${shownValue(value)}`);
  if (value.length !== types.length) throw invalidField(path, `must have ${types.length} values${list}; it has ${value.length}`);
  return listOf(readEach(types, (type, index) => readAbiValue(type, value[index] ?? null, `${path}[${index}]`, spend)));
}

function readArray(type: ParamType, length: number, value: JsonValue, path: string, spend: SpendWords): ReadValue {
  if (!Array.isArray(value)) throw invalidField(path, `must be an array of ${shownName(type.type)}; it is ${shownValue(value)}`);
  if (length !== -1 && value.length !== length) throw invalidField(path, `must have ${length} items; it has ${value.length}`);
  // Its length, and offsets of items of variable size.
  spend(length === -1 ? 2 : 1);
  return listOf(readEach(value, (item, index) => readAbiValue(type, item, `${path}[${index}]`, spend)));
}

function listOf(read: readonly ReadValue[]): ReadValue {
  return { value: read.map(({ value }) => value), text: `[${read.map(({ text }) => text).join(',')}]` };
}

function readInteger(type: string, value: JsonValue, refuse: (wanted: string) => Error): ReadValue {
  const isSigned = type.startsWith('i');
  const bits = Number(type.slice(isSigned ? 3 : 4));
  const [from, to] = isSigned ? [`-2^${bits - 1}`, `2^${bits - 1}-1`] : ['0', bits > 16 ? `2^${bits}-1` : String(2 ** bits - 1)];
  const integer = integerOf(value);
  const fits = integer !== null && (isSigned ? BigInt.asIntN(bits, integer) : BigInt.asUintN(bits, integer)) === integer;
  if (!fits) throw refuse(`${articled(type)}, an integer from ${from} to ${to}`);
  return { value: integer, text: `"${integer}"` };
}

/** The integer that a token or a text denotes, exactly; null if it denotes none. */
function integerOf(value: JsonValue): bigint | null {
  if (typeof value === 'number') return BigInt(value);
  if (value instanceof JsonNumber) {
    const digits = integerDigitsOf(value.text);
    return digits === undefined ? null : BigInt(digits);
  }
  return typeof value === 'string' && (decimalDigits.test(value) || hexDigits.test(value)) ? BigInt(value) : null;
}

function articled(type: string): string {
  return `${/^[aiu]/.test(type) && !type.startsWith('uint') ? 'an' : 'a'} ${shownName(type)}`;
}

/** The start of what came, fit for an error. */
function shownValue(value: JsonValue): string {
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (value instanceof Map) return 'an object';
  return typeof value === 'string' ? JSON.stringify(shownName(value)) : shownName(jsonTextOf(value));
}
