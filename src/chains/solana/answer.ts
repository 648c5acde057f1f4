import { getBase58Encoder } from '@solana/kit';
import { objectFrom } from '../rpc/answer.js';
import { MalformedAnswerError } from '../rpc/node-error.js';

/** What a node says about a slot. */
export interface AtSlot<T> {
  /** The newest slot that the node had seen at the commitment it was asked at. */
  readonly slot: bigint;
  readonly value: T;
}

/** Reads a whole number that is not negative. Throws `MalformedAnswerError` when it is none. */
export function integerFrom(value: unknown, what: string): bigint {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0) throw new MalformedAnswerError(what);
  return BigInt(value);
}

/** Reads a text. Throws `MalformedAnswerError` when it is none. */
export function textFrom(value: unknown, what: string): string {
  if (typeof value !== 'string') throw new MalformedAnswerError(what);
  return value;
}

/** Reads 32 bytes of base58: a blockhash or a key. Throws `MalformedAnswerError` when it is none. */
export function keyFrom(value: unknown, what: string): string {
  const text = textFrom(value, what);
  // Longer texts are not decoded: that costs the square of their length.
  if (!/^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(text) || getBase58Encoder().encode(text).length !== 32) throw new MalformedAnswerError(what);
  return text;
}

/** Reads an answer that comes with the slot it was given at. Throws `MalformedAnswerError`. */
export function atSlotFrom<T>(answer: unknown, what: string, read: (value: unknown) => T): AtSlot<T> {
  const { context, value } = objectFrom(answer, what);
  return { slot: integerFrom(objectFrom(context, what).slot, what), value: read(value) };
}
