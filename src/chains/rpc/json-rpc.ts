import { withoutSecrets } from '../../core/text/without-secrets.js';
import { type Answer, isNestedOver, nodeText } from './answer.js';
import type { HttpResponse, RpcTarget } from './http-client.js';
import type { Position } from './lag-tracker.js';
import { MalformedAnswerError, NodeError, TransportError } from './node-error.js';
import { parseAnswer } from './parse-answer.js';

/** By position, by name, or null for a method that takes none and may reject even an empty list. */
export type RpcParams = readonly unknown[] | Readonly<Record<string, unknown>> | null;

/** A JSON-RPC call. Every call is safe to repeat: reads, and signed bytes, which nodes answer with "already known" the second time. */
export interface RpcCall<T> {
  readonly method: string;
  readonly params: RpcParams;
  /** JSON text to send in place of `params`, digit for digit. */
  readonly paramsJson?: string;
  /** Reads the result. `responseText` is the whole response, null if it answers other calls too. Throws `MalformedAnswerError`. */
  readonly read: (result: unknown, responseText: string | null) => T;
  /** True if a node changes nothing because of it. Absent: it may. */
  readonly isQuestion?: boolean;
  /** False: what it does is not wanted any more, so no request carries it from now on. Asked before each. Absent: it stays due. */
  isStillDue?(): boolean;
  /** Whose word counts; see `Entry.asks`. Absent: that of any endpoint. */
  readonly asks?: 'any' | 'head' | 'several';
  /** True if the result says "I have none": it counts only if no other endpoint has one. Absent: no result does. */
  isEmpty?(result: T): boolean;
  /** True if the error answers the call; after any other, the next endpoint is asked. Absent: `NodeError.isAboutNode` decides. */
  isAnswer?(error: NodeError): boolean;
}

/** See `RpcCall.isStillDue`. */
export function isDue<T>(call: RpcCall<T>): boolean {
  return call.isStillDue?.() !== false;
}

/** The result of one call, or why there is none. */
export type Settled<T> = { readonly result: T } | { readonly error: NodeError | TransportError };

/** How to identify a kind of node, read its height and understand its errors. */
export interface NodeDialect {
  /**
   * Verified before any other answer counts: first, after every failure, on every new connection. Null if only the genesis block identifies
   * a network.
   */
  readonly identity: NodeIdentity | null;
  /**
   * The call for the genesis hash, to compare with the expected one, or for the block that replaces it; null in its answer: the node does
   * not show it. Null if `identity` suffices.
   */
  readonly genesis: ((expected: string) => RpcCall<string | null>) | null;
  /** Reads the number of the newest block, and its timestamp if that costs no further call. */
  readonly position: RpcCall<Position>;
  /** Reads the block at a height, to compare the branches that two nodes are on. Null if `position` has no hash. */
  readonly blockAt: ((height: bigint) => RpcCall<BlockId | null>) | null;
  /** Makes a node announce new heads on a WebSocket. Absent: no node of the network does. */
  readonly newHeads?: RpcCall<unknown>;
  /** True if the error is about the request, for any words: they are decided before any table. Absent: none is. */
  isVerdict?(error: { readonly code: number; readonly message: string; readonly data: string | null }): boolean;
  /** True if the error concerns the node and not the request, so that another node may answer. `text` is truncated. */
  isAboutNode(code: number, text: string): boolean;
  /** Returns the useful part of an error's `data`; null if there is none. */
  dataFrom(data: unknown): string | null;
}

/** A block, and the block that it follows. */
export interface BlockId {
  readonly hash: string;
  /** Null: the node does not show it. */
  readonly parentHash: string | null;
}

/** How a node identifies its network. */
export interface NodeIdentity {
  /** For errors and the log, as in "did not return its chain ID". */
  readonly name: string;
  readonly call: RpcCall<string>;
  /** What the configured network has. */
  readonly expected: string;
  /** Returns an answer in the form of `expected`. */
  shown(answered: string): string;
}

/** The node that sent a response. */
export interface Responder {
  readonly target: RpcTarget;
  readonly dialect: NodeDialect;
  /** Returns the first ID of this many calls; they are 1 and up, or differ from all others if they share a connection. */
  takeIds(count: number): number;
}

/** Writes the body of a request with one call. */
export function singleBody(call: RpcCall<unknown>, id: number): string {
  const { method, paramsJson } = call;
  if (paramsJson !== undefined) return `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":${paramsJson}}`;
  return JSON.stringify(itemOf(call, id));
}

/** Writes the body of a batch. IDs count from `firstId`. */
export function batchBody(calls: readonly RpcCall<unknown>[], firstId: number): string {
  return JSON.stringify(calls.map((call, index) => itemOf(call, firstId + index)));
}

function itemOf({ method, params }: RpcCall<unknown>, id: number): object {
  return params === null ? { jsonrpc: '2.0', id, method } : { jsonrpc: '2.0', id, method, params };
}

/** Reads the response to one call. Throws `TransportError` if it is not JSON-RPC or has an unexpected shape. */
export function settledFromSingle<T>(response: HttpResponse, call: RpcCall<T>, responder: Responder): Settled<T> {
  const { host } = responder.target;
  const { statusCode, retryAfterMs, text } = response;
  const item = itemFrom(parsed(text));
  const isOverload = statusCode === 429 || (retryAfterMs !== null && statusCode === 503);
  if (!isOverload && item?.error !== undefined && item.error !== null) return { error: nodeErrorFrom(item.error, statusCode, responder) };
  if (statusCode < 200 || statusCode > 299) throw new TransportError(host, `answered HTTP ${statusCode}`, retryAfterMs);
  if (item === null || item.result === undefined) throw new TransportError(host, 'response is not JSON-RPC');
  const settled = readItem(item, call, host, text);
  if ('error' in settled) throw settled.error;
  return settled;
}

/**
 * The response to a batch. `too large`: the node answered one error for many calls, or only the calls that fit into its response; those
 * without an answer are null. `rejected`: no call is answered.
 */
export type BatchAnswer<T> =
  | { readonly kind: 'answered'; readonly settled: readonly Settled<T>[] }
  | { readonly kind: 'too large'; readonly settled: readonly (Settled<T> | null)[] }
  | { readonly kind: 'rejected' };

/**
 * Reads the response to a batch by ID, in the order of the calls. An item that is missing, duplicated or malformed becomes a
 * `TransportError` of its own. Throws `TransportError` for an overload.
 */
export function settledFromBatch<T>(
  response: HttpResponse,
  calls: readonly RpcCall<T>[],
  responder: Responder,
  firstId: number,
): BatchAnswer<T> {
  const { host } = responder.target;
  const { statusCode, retryAfterMs, text } = response;
  if (overloadStatuses.includes(statusCode)) throw new TransportError(host, `answered HTTP ${statusCode}`, retryAfterMs);
  const items = parsed(text);
  if (isOneError(items)) return { kind: 'too large', settled: calls.map(() => null) };
  if (!Array.isArray(items)) return { kind: 'rejected' };
  const byId = new Map<number, Answer | null>();
  for (const item of items.map(itemFrom)) {
    if (typeof item?.id === 'number') byId.set(item.id, byId.has(item.id) ? null : item);
  }
  if (!calls.some((_, index) => byId.has(firstId + index))) return { kind: 'rejected' };
  let isTooLarge = false;
  const settled = calls.map((call, index): Settled<T> | null => {
    const item = byId.get(firstId + index) ?? null;
    if (index > 0 && isResponseTooLarge(item)) {
      isTooLarge = true;
      return null;
    }
    if (item?.error !== undefined && item.error !== null) return { error: nodeErrorFrom(item.error, 200, responder) };
    if (item === null || item.result === undefined)
      return { error: new TransportError(host, 'response to a batch lacks the result of one of its calls') };
    return readItem(item, call, host, null);
  });
  if (isTooLarge) return { kind: 'too large', settled };
  return { kind: 'answered', settled: settled.flatMap((item) => item ?? []) };
}

/**
 * geth answers a batch above its limit with a list of one error, which has the ID of the first call; others with an error alone that speaks
 * of batches.
 */
function isOneError(items: unknown): boolean {
  const item = Array.isArray(items) ? (items.length === 1 ? itemFrom(items[0]) : null) : itemFrom(items);
  const text = messageOf(item);
  return item?.error !== undefined && item.error !== null && (/batch/i.test(text) || (Array.isArray(items) && !rateLimitText.test(text)));
}

/** geth answers so the calls of a batch whose answers no longer fit into its response. */
function isResponseTooLarge(item: Answer | null): boolean {
  return /response too large/i.test(messageOf(item));
}

function messageOf(item: Answer | null): string {
  const message = itemFrom(item?.error)?.message;
  return typeof message === 'string' ? message : '';
}

/** Too many requests, and the statuses of gateways if the node behind them is down. */
const overloadStatuses: readonly number[] = [408, 429, 502, 503, 504];

function readItem<T>({ result }: Answer, call: RpcCall<T>, host: string, responseText: string | null): Settled<T> {
  try {
    return { result: call.read(result, responseText) };
  } catch (error) {
    if (!(error instanceof MalformedAnswerError)) throw error;
    return { error: new TransportError(host, error.message) };
  }
}

function parsed(text: string): unknown {
  try {
    return parseAnswer(text);
  } catch {
    return null;
  }
}

function itemFrom(value: unknown): Answer | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Answer) : null;
}

const rateLimitText =
  /too many requests|rate.?limit|request limit|limit exceeded|quota|throttl|capacity|compute units|per second|slow down/i;

/** Error data that nests deeper is dropped. */
const maxDataDepth = 64;

function nodeErrorFrom(error: unknown, statusCode: number, { target, dialect }: Responder): NodeError {
  const { code, message, data: rawData } = typeof error === 'object' && error !== null ? (error as Record<string, unknown>) : {};
  const data = isNestedOver(rawData, maxDataDepth) ? null : rawData;
  // JSON-RPC requires an integer, and our API has 32 bits for it.
  const codeNumber = typeof code === 'number' && code === (code | 0) ? code : 0;
  const masked = (text: string) => withoutSecrets(text, target.secrets);
  const text = masked(typeof message === 'string' ? message : 'no message');
  const isErrorStatus = statusCode !== 400 && (statusCode < 200 || statusCode > 299);
  const dataText = dialect.dataFrom(data);
  const isVerdict = dialect.isVerdict?.({ code: codeNumber, message: text.slice(0, 1024), data: dataText }) === true;
  const isRateLimit = (codeNumber === -32005 || codeNumber === 429) && rateLimitText.test(text.slice(0, 1024));
  return new NodeError(nodeText(text), {
    code: codeNumber,
    data: dataText,
    dataJson:
      data === undefined || data === null
        ? null
        : JSON.stringify(data, (_, part: unknown) => (typeof part === 'string' ? masked(part) : part)),
    isAboutNode: !isVerdict && (isErrorStatus || isRateLimit || dialect.isAboutNode(codeNumber, text.slice(0, 1024))),
    isOverload: !isVerdict && (isRateLimit || statusCode >= 500),
  });
}
