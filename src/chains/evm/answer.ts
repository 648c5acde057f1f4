import { MalformedAnswerError } from '../rpc/node-error.js';

/** Reads a JSON-RPC quantity. Throws `MalformedAnswerError` when it is none. */
export function quantityFrom(value: unknown, what: string): bigint {
  if (typeof value !== 'string' || !/^0x[0-9a-f]{1,64}$/i.test(value)) throw new MalformedAnswerError(what);
  return BigInt(value);
}

/** Reads 32 bytes of hex, into lower case. Throws `MalformedAnswerError` when it is none. */
export function hashFrom(value: unknown, what: string): string {
  if (typeof value !== 'string' || !/^0x[0-9a-f]{64}$/i.test(value)) throw new MalformedAnswerError(what);
  return value.toLowerCase();
}

/** A number as JSON-RPC writes it. */
export function quantityOf(value: bigint): string {
  return `0x${value.toString(16)}`;
}
