import type { xdr } from '@stellar/stellar-sdk';
import { MalformedAnswerError } from '../rpc/node-error.js';
import { readXdr, type XdrReader } from './xdr-text.js';

/** Reads a non-negative integer, which node versions write as a JSON number or as digits. Throws `MalformedAnswerError`. */
export function integerFrom(value: unknown, what: string): bigint {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value);
  if (typeof value === 'string' && /^[0-9]{1,20}$/.test(value)) return BigInt(value);
  throw new MalformedAnswerError(what);
}

/** Reads a string. Throws `MalformedAnswerError`. */
export function textFrom(value: unknown, what: string): string {
  if (typeof value !== 'string') throw new MalformedAnswerError(what);
  return value;
}

/** Reads base64 XDR. Throws `MalformedAnswerError`. */
export function xdrFrom<Wire, T extends xdr.XdrValue>(type: XdrReader<Wire, T>, value: unknown, what: string): T {
  const read = typeof value === 'string' ? readXdr(type, value) : null;
  if (read === null) throw new MalformedAnswerError(what);
  return read;
}
