import { MalformedAnswerError } from './node-error.js';

/** An object of a node's answer, by field. */
export type Answer = Readonly<Record<string, unknown>>;

/** Reads an object. Throws `MalformedAnswerError` when it is none. */
export function objectFrom(value: unknown, what: string): Answer {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new MalformedAnswerError(what);
  return value as Answer;
}

/** Reads a list. Throws `MalformedAnswerError` when it is none. */
export function listFrom(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new MalformedAnswerError(what);
  return value;
}

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
