import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { Agent, buildConnector, WebSocket } from 'undici';
import { orAborted, startDeadline, TimeoutError } from '../../core/work/abort.js';
import { codeOf, connectTimeoutMs, type HttpClient, type HttpClientOptions, type HttpResponse, maxResponseBytes } from './http-client.js';
import { TransportError } from './node-error.js';
import { parseAnswer } from './parse-answer.js';

/** geth writes an answer in fragments of 1 KiB. */
const maxFragments = 65_536;
/** The node does not read what is sent. */
const maxUnsentBytes = 16 * 1024 * 1024;
/** A connection that was lost is opened again at once; if that gives no answer, after the first pause, and then after twice the last. */
const reconnectMs = { first: 250, longest: 5_000 };
/** Messages in a row that answer no request: late answers and new heads are few, and small. */
const stray = { most: 1_000, longest: 64 * 1024 };
/** The ID of the subscription, whose answer nothing waits for. */
export const subscriptionId = 0;
/** How our own requests and most nodes' answers begin: this saves to parse a large answer twice. */
const idPattern = /^\s*\[?\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d{1,15})\s*[,}]/;

/** A request that waits for its answer. */
interface Pending {
  readonly ids: readonly number[];
  answer(text: string): void;
  fail(error: TransportError): void;
}

/** An open connection. */
interface Connection {
  readonly socket: WebSocket;
  /** The requests without an answer, by the ID of each of their calls. */
  readonly pending: Map<number, Pending>;
  /** The number of messages that have arrived. */
  received: number;
  /** The number of them since the last answer. */
  strays: number;
  /** Ends it at once: a peer that is gone answers no close frame. */
  end(reason: string): void;
}

/** The connection was lost before the answer came. */
class LostError extends TransportError {}

/**
 * Sends requests through one WebSocket, which is opened when it is needed. The IDs of a request's calls must follow one another and differ
 * from those of all others that wait for an answer.
 */
export function createWebSocketClient(options: HttpClientOptions): HttpClient {
  const { target, networkName, timeoutMs, onLost, subscription, telemetry, connect } = options;
  const { host } = target;
  const opened = connect ?? buildConnector({ timeout: Math.min(connectTimeoutMs, timeoutMs) });
  let connecting: Promise<Connection> | null = null;
  let current: Connection | null = null;
  let isClosed = false;
  const retries = createRetries();
  let requests = 0;
  let items = 0;

  async function connection(): Promise<Connection> {
    if (isClosed) throw new TransportError(host, 'the client is closed');
    if (current !== null) return current;
    if (connecting !== null) return connecting;
    if (retries.arePaused()) throw new TransportError(host, 'the WebSocket was lost; connecting again soon');
    const opening = open();
    connecting = opening;
    opening.then(
      (one) => {
        connecting = null;
        current = one;
      },
      () => {
        connecting = null;
        retries.failed();
      },
    );
    return opening;
  }

  async function open(): Promise<Connection> {
    let raw: Socket | null = null;
    let refusal = 'the handshake failed';
    const agent = new Agent({
      connect: (parts, callback) =>
        opened(parts, (...result) => {
          raw = result[1];
          refusal = codeOf(result[0]) ?? refusal;
          callback(...result);
        }),
      webSocket: { maxPayloadSize: maxResponseBytes, maxFragments },
    });
    const socket = new WebSocket(`${target.origin}${target.path}`, { dispatcher: agent, headers: target.headers });
    socket.binaryType = 'arraybuffer';
    let problem = 'the WebSocket was closed';
    const one: Connection = {
      socket,
      pending: new Map(),
      received: 0,
      strays: 0,
      end(reason) {
        problem = reason;
        raw?.destroy();
        void agent.destroy();
      },
    };
    const deadline = startDeadline(timeoutMs);
    try {
      await orAborted(
        isOpen(socket, () => new TransportError(host, `no WebSocket: ${refusal}`)),
        deadline.signal,
      );
    } catch (error) {
      one.end('no WebSocket');
      throw error instanceof TransportError ? error : new TransportError(host, `no WebSocket within ${timeoutMs} ms`);
    } finally {
      deadline.clear();
    }
    socket.addEventListener('message', ({ data }) => take(one, typeof data === 'string' ? data : Buffer.from(data).toString()));
    socket.addEventListener('close', ({ code }) => lose(one, code === 1009 ? 'the answer is too large' : problem));
    if (subscription !== undefined) socket.send(subscription.body);
    return one;
  }

  function lose(one: Connection, problem: string): void {
    if (current === one) current = null;
    one.end(problem);
    retries.failed();
    for (const { fail } of one.pending.values()) fail(new LostError(host, problem));
    one.pending.clear();
    if (!isClosed) onLost();
  }

  function take(one: Connection, text: string): void {
    one.received += 1;
    const id = idOf(text);
    const waiting = id === 'none' ? onlyOne(one.pending) : typeof id === 'number' ? one.pending.get(id) : undefined;
    if (waiting !== undefined) {
      one.strays = 0;
      retries.worked();
      for (const answered of waiting.ids) one.pending.delete(answered);
      waiting.answer(text);
      return;
    }
    one.strays += 1;
    if (id === 'none' || one.strays > stray.most || text.length > stray.longest) one.end('a message answers no request');
    else if (id === 'news') subscription?.onNews();
  }

  async function request(body: string, itemsOfBody: number): Promise<string> {
    const ids = idsOf(body, itemsOfBody);
    const deadline = startDeadline(timeoutMs);
    let used: Connection | null = null;
    let receivedBefore = 0;
    try {
      used = await orAborted(connection(), deadline.signal);
      receivedBefore = used.received;
      if (used.socket.bufferedAmount > maxUnsentBytes) throw new TransportError(host, 'the node does not read its requests');
      requests += 1;
      items += ids.length;
      return await orAborted(sent(used, ids, body), deadline.signal);
    } catch (error) {
      for (const id of ids) used?.pending.delete(id);
      if (!(error instanceof TimeoutError)) throw error;
      const problem = `no response within ${timeoutMs} ms`;
      // Nothing at all has come since: the peer may be gone without a word.
      if (used?.received === receivedBefore) used.end(problem);
      throw new TransportError(host, problem);
    } finally {
      deadline.clear();
    }
  }

  return {
    async post(body, itemsOfBody, beforeRepeat): Promise<HttpResponse> {
      const startedMs = performance.now();
      const measure = (result: 'answered' | 'failed') =>
        telemetry.meter.nodeAsked(networkName, host, result, itemsOfBody, (performance.now() - startedMs) / 1_000);
      try {
        // The server may close the connection just when it is used. Every call here is safe to repeat.
        const text = await request(body, itemsOfBody).catch(async (error: unknown) => {
          if (!(error instanceof LostError)) throw error;
          await beforeRepeat?.();
          return request(body, itemsOfBody);
        });
        measure('answered');
        return { statusCode: 200, text, retryAfterMs: null };
      } catch (error) {
        measure('failed');
        throw error;
      }
    },
    calls: () => ({ http: requests, items }),
    async close() {
      isClosed = true;
      (current ?? (await connecting?.catch(() => null)))?.end('the client is closed');
    },
  };
}

/** Sends a request, and returns its answer. */
function sent({ socket, pending }: Connection, ids: readonly number[], body: string): Promise<string> {
  return new Promise<string>((resolve, reject) => {
    const one = { ids, answer: resolve, fail: reject };
    for (const id of ids) pending.set(id, one);
    socket.send(body);
  });
}

/** When a lost connection may be opened again. */
function createRetries() {
  let failures = 0;
  let notBeforeMs = 0;
  return {
    arePaused: () => performance.now() < notBeforeMs,
    failed() {
      const pauseMs = failures === 0 ? 0 : Math.min(reconnectMs.longest, reconnectMs.first * 2 ** (failures - 1));
      notBeforeMs = performance.now() + pauseMs;
      failures += 1;
    },
    worked() {
      failures = 0;
    },
  };
}

/** The IDs of a request's calls. */
function idsOf(body: string, count: number): readonly number[] {
  const first = idOf(body);
  if (typeof first !== 'number') throw new Error('the request has no ID');
  return Array.from({ length: count }, (_, index) => first + index);
}

/** Resolves when the handshake has succeeded. */
function isOpen(socket: WebSocket, errorOf: () => TransportError): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.addEventListener('open', () => resolve());
    for (const event of ['error', 'close'] as const) socket.addEventListener(event, () => reject(errorOf()));
  });
}

/** The request that waits alone; undefined: there is none, or there are several. */
function onlyOne(pending: ReadonlyMap<number, Pending>): Pending | undefined {
  const [one, ...others] = new Set(pending.values());
  return others.length === 0 ? one : undefined;
}

/** The ID of a request or an answer, or of one of a batch. `news`: it answers nothing, and has a method; `none`: it is neither. */
function idOf(text: string): number | 'news' | 'none' {
  const [, digits] = idPattern.exec(text) ?? [];
  if (digits !== undefined) return Number(digits);
  try {
    const message: unknown = parseAnswer(text);
    const { id, method } = Object((Array.isArray(message) ? message : [message]).find(hasId) ?? message) as Record<string, unknown>;
    if (typeof id === 'number') return id;
    return typeof method === 'string' ? 'news' : 'none';
  } catch {
    return 'none';
  }
}

function hasId(item: unknown): boolean {
  return typeof item === 'object' && item !== null && 'id' in item && typeof item.id === 'number';
}
