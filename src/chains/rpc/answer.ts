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
