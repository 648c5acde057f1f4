import { getBase58Encoder } from '@solana/kit';
import { objectFrom } from '../rpc/answer.js';
import { MalformedAnswerError } from '../rpc/node-error.js';

/** An answer and the slot it is from. */
export interface AtSlot<T> {
  /** The newest slot of the node at the requested commitment. */
  readonly slot: bigint;
  readonly value: T;
}

/** Reads a non-negative integer. Throws `MalformedAnswerError`. */
export function integerFrom(value: unknown, what: string): bigint {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0) throw new MalformedAnswerError(what);
  return BigInt(value);
}

/** Reads a string. Throws `MalformedAnswerError`. */
export function textFrom(value: unknown, what: string): string {
  if (typeof value !== 'string') throw new MalformedAnswerError(what);
  return value;
}

/** Reads a blockhash or key: 32 bytes in base58. Throws `MalformedAnswerError`. */
export function keyFrom(value: unknown, what: string): string {
  const text = textFrom(value, what);
  // Longer strings are not decoded: the cost is quadratic.
  if (!/^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(text) || getBase58Encoder().encode(text).length !== 32) throw new MalformedAnswerError(what);
  return text;
}

/** Reads an answer with its slot. Throws `MalformedAnswerError`. */
export function atSlotFrom<T>(answer: unknown, what: string, read: (value: unknown) => T): AtSlot<T> {
  const { context, value } = objectFrom(answer, what);
  return { slot: integerFrom(objectFrom(context, what).slot, what), value: read(value) };
}
