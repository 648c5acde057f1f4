import { withoutParts } from '../../core/secret-parts.js';
import { isNestedOver, nodeText } from './answer.js';
import type { NodeDialect } from './dialect.js';
import type { HttpAnswer, RpcTarget } from './http-wire.js';
import { MalformedAnswerError, NodeError, TransportError } from './node-error.js';

/** By place, by name, or null for a method that takes none and may refuse even an empty list. */
export type RpcParams = readonly unknown[] | Readonly<Record<string, unknown>> | null;

/** A question to a node. All that is asked is safe to repeat: reads, and signed bytes, which a second time are "already known". */
export interface RpcCall<T> {
  readonly method: string;
  readonly params: RpcParams;
  /** The text that is sent in their place, digit for digit. */
  readonly paramsJson?: string;
  /** Reads the result; `answerText` is that of the whole answer, null where it answers others too. Throws `MalformedAnswerError`. */
  readonly read: (result: unknown, answerText: string | null) => T;
}

/** What became of one call. */
export type Settled<T> = { readonly result: T } | { readonly error: NodeError | TransportError };

/** The body of a request with one call. */
export function singleBody(call: RpcCall<unknown>): string {
  const { method, paramsJson } = call;
  if (paramsJson !== undefined) return `{"jsonrpc":"2.0","id":1,"method":${JSON.stringify(method)},"params":${paramsJson}}`;
  return JSON.stringify(itemOf(call, 1));
}

/** The body of a request with many calls; their ids count from 1. */
export function batchBody(calls: readonly RpcCall<unknown>[]): string {
  return JSON.stringify(calls.map((call, index) => itemOf(call, index + 1)));
}

function itemOf({ method, params }: RpcCall<unknown>, id: number): object {
  return params === null ? { jsonrpc: '2.0', id, method } : { jsonrpc: '2.0', id, method, params };
}

/** Who answered: where it leads, and how its answers read. */
export interface Answerer {
  readonly target: RpcTarget;
  readonly dialect: NodeDialect;
}

/** Reads the answer to one call. Throws `TransportError` when it is no JSON-RPC, or not what was asked for. */
export function settledFromSingle<T>(answer: HttpAnswer, call: RpcCall<T>, answerer: Answerer): Settled<T> {
  const { target } = answerer;
  const { statusCode } = answer;
  const item = itemFrom(parsed(answer.text));
  const isOverload = statusCode === 429 || (answer.retryAfterMs !== null && statusCode === 503);
  if (!isOverload && item?.error !== undefined && item.error !== null) {
    return { error: nodeErrorFrom(item.error, statusCode, answerer) };
  }
  if (statusCode < 200 || statusCode > 299) throw new TransportError(target.host, `answered HTTP ${statusCode}`, answer.retryAfterMs);
  if (item === null || item.result === undefined) throw new TransportError(target.host, 'answered no JSON-RPC');
  const settled = readItem(item, call, target, answer.text);
  if ('error' in settled) throw settled.error;
  return settled;
}

/**
 * Reads the answer to a batch: each item by its id, in the order of the calls; an item that is missing, given twice or malformed is a
 * `TransportError` of its own. Null when it answers none of the calls, as where batches are refused. Throws `TransportError` for an
 * overload.
 */
export function settledFromBatch<T>(answer: HttpAnswer, calls: readonly RpcCall<T>[], answerer: Answerer): readonly Settled<T>[] | null {
  const { target } = answerer;
  const { statusCode } = answer;
  if (overloadStatuses.includes(statusCode)) throw new TransportError(target.host, `answered HTTP ${statusCode}`, answer.retryAfterMs);
  const items = parsed(answer.text);
  if (!Array.isArray(items)) return null;
  const byId = new Map<number, RpcItem | null>();
  for (const item of items.map(itemFrom)) {
    if (typeof item?.id === 'number') byId.set(item.id, byId.has(item.id) ? null : item);
  }
  if (!calls.some((_, index) => byId.has(index + 1))) return null;
  return calls.map((call, index): Settled<T> => {
    const item = byId.get(index + 1) ?? null;
    if (item?.error !== undefined && item.error !== null) return { error: nodeErrorFrom(item.error, 200, answerer) };
    if (item === null || item.result === undefined) return { error: new TransportError(target.host, 'left a call of a batch unanswered') };
    return readItem(item, call, target, null);
  });
}

interface RpcItem {
  readonly id?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
}

/** Too many requests, and what gateways say when the node behind them is down. */
const overloadStatuses: readonly number[] = [408, 429, 502, 503, 504];

function readItem<T>(
  { result }: RpcItem,
  call: RpcCall<T>,
  target: RpcTarget,
  answerText: string | null,
): Settled<T> | { readonly error: TransportError } {
  try {
    return { result: call.read(result, answerText) };
  } catch (error) {
    if (!(error instanceof MalformedAnswerError)) throw error;
    return { error: new TransportError(target.host, error.message) };
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function itemFrom(value: unknown): RpcItem | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
}

const rateLimitText =
  /too many requests|rate.?limit|request limit|limit exceeded|quota|throttl|capacity|compute units|per second|slow down/i;

/** What is nested deeper in a refusal's data is no use to anybody. */
const greatestDataDepth = 64;

function nodeErrorFrom(error: unknown, statusCode: number, { target, dialect }: Answerer): NodeError {
  const { code, message, data: told } = typeof error === 'object' && error !== null ? (error as Record<string, unknown>) : {};
  const data = isNestedOver(told, greatestDataDepth) ? null : told;
  // JSON-RPC has integers here, and callers are told 32 bits.
  const codeNumber = typeof code === 'number' && code === (code | 0) ? code : 0;
  const withoutSecrets = (said: string) => withoutParts(said, target.secrets);
  const text = withoutSecrets(typeof message === 'string' ? message : 'no message');
  const isErrorStatus = statusCode !== 400 && (statusCode < 200 || statusCode > 299);
  const isRateLimit = (codeNumber === -32005 || codeNumber === 429) && rateLimitText.test(text.slice(0, 1024));
  return new NodeError(nodeText(text), {
    code: codeNumber,
    data: dialect.dataFrom(data),
    dataJson:
      data === undefined || data === null
        ? null
        : JSON.stringify(data, (_, part: unknown) => (typeof part === 'string' ? withoutSecrets(part) : part)),
    isAboutNode: isErrorStatus || isRateLimit || dialect.isAboutNode(codeNumber, text.slice(0, 1024)),
    isOverload: isRateLimit || statusCode >= 500,
  });
}
