import { MalformedAnswerError } from '../rpc/node-error.js';
import { readXdr, type XdrReader } from './xdr-text.js';

/** Reads an integer that is not negative: a JSON number, or digits, since versions of nodes differ. Throws `MalformedAnswerError`. */
export function integerFrom(value: unknown, what: string): bigint {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value);
  if (typeof value === 'string' && /^[0-9]{1,20}$/.test(value)) return BigInt(value);
  throw new MalformedAnswerError(what);
}

/** Reads a text. Throws `MalformedAnswerError`. */
export function textFrom(value: unknown, what: string): string {
  if (typeof value !== 'string') throw new MalformedAnswerError(what);
  return value;
}

/** Reads base64 XDR. Throws `MalformedAnswerError`. */
export function xdrFrom<T>(type: XdrReader<T>, value: unknown, what: string): T {
  const read = typeof value === 'string' ? readXdr(type, value) : null;
  if (read === null) throw new MalformedAnswerError(what);
  return read;
}
