import type { RpcCall, RpcParams } from './json-rpc.js';
import type { NodeError } from './node-error.js';

/**
 * A question to nodes, as an entry of a chain's table. An odd answer of an endpoint is never the answer: words that no rule knows, a
 * malformed or insane result, a time-out, or an error of any code send the question to the next endpoint.
 */
export interface Entry<A extends readonly unknown[], T> {
  readonly method: string;
  readonly params: (...args: A) => RpcParams;
  /** Reads a sane result. Throws `MalformedAnswerError` if it is not one, so that the next endpoint is asked. */
  readonly read: (result: unknown, ...args: A) => T;
  /** Whose word counts: any endpoint's, that of the endpoint of the head, or several together: the median, the highest or the lowest. */
  readonly asks: 'any' | 'head' | 'several';
  /** What the answer may decide. Nothing becomes final, and no amount is paid, by one answer alone. */
  readonly decides: 'nothing final' | 'a wait' | 'an amount' | 'a final state';
  /** True if a node acts on it. Absent: it only answers. */
  readonly acts?: true;
  /** What happens if no endpoint gives a sane answer, and how soon. */
  readonly fallback: string;
  /** True for results that say "I have none": they count only if no other endpoint has one. Default: null is such a result. */
  isEmpty?(result: T): boolean;
  /** True for errors that answer the question, in words of a table. Default: none does. */
  isAnswer?(error: NodeError): boolean;
}

/** A question of a chain's table: called with its arguments, it is a call for `Rpc`. */
export interface Question<A extends readonly unknown[], T> {
  (...args: A): Required<Omit<RpcCall<T>, 'paramsJson' | 'isStillDue'>>;
  readonly entry: Entry<A, T>;
}

const isNull = (result: unknown): boolean => result === null;
const isNone = (): boolean => false;

/** Makes a question of an entry. */
export function question<A extends readonly unknown[], T>(entry: Entry<A, T>): Question<A, T> {
  const { method, params, read, asks, acts = false, isEmpty = isNull, isAnswer = isNone } = entry;
  const ask: (...args: A) => ReturnType<Question<A, T>> = (...args) => ({
    method,
    params: params(...args),
    read: (result) => read(result, ...args),
    asks,
    isQuestion: !acts,
    isEmpty,
    isAnswer,
  });
  return Object.assign(ask, { entry });
}
