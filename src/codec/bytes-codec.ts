import { base64Encode } from '@bufbuild/protobuf/wire';
import type { JsonValue } from '../json/json-value.js';
import type { ValueCodec } from './value-codec.js';

const hexPattern = /^(?:0x)?((?:[0-9a-fA-F]{2})*)$/;

/** Standard alphabet, padded. */
const base64Pattern = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Bytes as lower-case hexadecimal; `0x` in front and an array of integers from 0 to 255 are read too. */
export const hexCodec: ValueCodec = {
  read(value, path, reading) {
    if (Array.isArray(value))
      return value.every(isByte) ? Uint8Array.from(value) : reading.refuse(path, 'must have integers from 0 to 255 only');
    const digits = typeof value === 'string' ? hexPattern.exec(value)?.[1] : undefined;
    if (digits === undefined)
      return reading.refuse(path, 'must be hexadecimal, with an even number of digits, or an array of integers from 0 to 255');
    return new Uint8Array(Buffer.from(digits, 'hex'));
  },
  write: (value) => `"${Buffer.from(value as Uint8Array).toString('hex')}"`,
};

/** Bytes as base64. */
export const base64Codec: ValueCodec = {
  read(value, path, reading) {
    if (typeof value !== 'string' || !base64Pattern.test(value)) return reading.refuse(path, 'must be base64');
    return new Uint8Array(Buffer.from(value, 'base64'));
  },
  write: (value) => `"${base64Encode(value as Uint8Array)}"`,
};

function isByte(value: JsonValue): value is number {
  return typeof value === 'number' && value >= 0 && value <= 255;
}
