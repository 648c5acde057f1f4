import { performance } from 'node:perf_hooks';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import { type buildConnector, type Dispatcher, Pool } from 'undici';
import type { NodeCalls } from '../../core/ports/chain/chain.js';
import type { Telemetry } from '../../core/ports/telemetry.js';
import type { RpcUrl } from '../../core/records/network.js';
import { percentDecoded, secretPartsOf, secretPartsOfHeader } from '../../core/text/safe-text.js';
import { startDeadline, TimeoutError } from '../../core/work/abort.js';
import { retryAfterMs } from '../../core/work/retry-after.js';
import { longestPauseMs } from './circuit-breaker.js';
import { TransportError } from './node-error.js';

/** Enough for the receipts of a large block with logs. */
export const maxResponseBytes = 32 * 1024 * 1024;
export const connectTimeoutMs = 3_000;
/** Redirects of one request that are followed. */
const maxRedirects = 3;
/** How to undo the compressions that gateways use, asked or not. */
const decompressions: ReadonlyMap<string, (bytes: Buffer, options: { readonly maxOutputLength: number }) => Promise<Buffer>> = new Map([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
]);

/** The parts of an RPC URL. Errors and logs show the host only. */
export interface RpcTarget {
  readonly origin: string;
  readonly host: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Parts of the URL to mask if a node echoes them. */
  readonly secrets: readonly string[];
  /** A WebSocket carries the requests. */
  readonly isSocket: boolean;
}

/** An HTTP response of any status. */
export interface HttpResponse {
  readonly statusCode: number;
  readonly text: string;
  /** From `Retry-After`; null if absent. */
  readonly retryAfterMs: number | null;
}

/** Posts bodies to one endpoint and counts them. */
export interface HttpClient {
  /**
   * Posts a body with `items` JSON-RPC calls. `beforeRepeat` verifies the node again before the body is sent on another connection.
   * Throws `TransportError`.
   */
  post(body: string, items: number, beforeRepeat?: () => Promise<void>): Promise<HttpResponse>;
  calls(): NodeCalls;
  close(): Promise<void>;
}

/** The options of an HTTP client. */
export interface HttpClientOptions {
  readonly target: RpcTarget;
  readonly networkName: string;
  readonly timeoutMs: number;
  /** Called when a connection ends: the next one may lead to another node. */
  readonly onLost: () => void;
  readonly telemetry: Telemetry;
  /** Sent once on each WebSocket, whose later messages without an answer are news. */
  readonly subscription?: { readonly body: string; readonly onNews: () => void } | undefined;
  /** Opens the connections; absent: undici does. */
  readonly connect?: buildConnector.connector | undefined;
}

/** Reads an RPC URL. Its error does not contain the URL. */
export function rpcTargetFrom({ url: text, headers: own = [] }: RpcUrl, networkName: string): RpcTarget {
  // `new URL` throws an error that contains the text.
  if (!URL.canParse(text)) throw new Error(`network ${networkName} has an invalid RPC URL`);
  const url = new URL(text);
  const user = percentDecoded(url.username);
  const password = percentDecoded(url.password);
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json',
    'accept-encoding': 'gzip',
  };
  const credentials = user === '' && password === '' ? null : Buffer.from(`${user}:${password}`).toString('base64');
  if (credentials !== null) headers.authorization = `Basic ${credentials}`;
  for (const { name, value } of own) headers[name.toLowerCase()] = value;
  const secrets = [
    ...(credentials === null ? [] : [credentials]),
    ...secretPartsOf(url),
    ...own.flatMap(({ value }) => secretPartsOfHeader(value)),
  ];
  const isSocket = ['ws:', 'wss:'].includes(url.protocol);
  return { origin: url.origin, host: url.host, path: `${url.pathname}${url.search}`, headers, secrets, isSocket };
}

/** Opens a pool of keep-alive connections. */
export function createHttpClient({ target, networkName, timeoutMs, onLost, telemetry, connect }: HttpClientOptions): HttpClient {
  const { meter, tracer } = telemetry;
  const { host } = target;
  const pools = new Map<string, Pool>();
  let place: Place = target;
  let http = 0;
  let items = 0;

  function poolOf(origin: string): Pool {
    const known = pools.get(origin);
    if (known !== undefined) return known;
    const pool = new Pool(origin, {
      connections: 64,
      connect: connect ?? { timeout: Math.min(connectTimeoutMs, timeoutMs) },
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      maxResponseSize: maxResponseBytes,
    });
    pool.on('disconnect', onLost);
    pools.set(origin, pool);
    return pool;
  }

  async function request(body: string, itemsOfBody: number, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const traceparent = tracer.current();
    const headers = traceparent === null ? target.headers : { ...target.headers, traceparent };
    let at = place;
    for (let redirects = 0; ; redirects += 1) {
      http += 1;
      items += itemsOfBody;
      const response = await poolOf(at.origin).request({ method: 'POST', path: at.path, headers, body, signal });
      const next = redirects < maxRedirects ? redirectOf(response, at) : null;
      if (next === null) return response;
      await response.body.dump();
      if (response.statusCode === 308) place = next;
      at = next;
    }
  }

  return {
    async post(body, itemsOfBody, beforeRepeat) {
      const startedMs = performance.now();
      const measure = (result: 'answered' | 'refused' | 'failed') =>
        meter.nodeAsked(networkName, host, result, itemsOfBody, (performance.now() - startedMs) / 1000);
      let deadline = startDeadline(timeoutMs);
      try {
        // The server may close a keep-alive connection just when it is used. Every call here is safe to repeat.
        const response = await request(body, itemsOfBody, deadline.signal).catch(async (error: unknown) => {
          if (!wasClosed(error)) throw error;
          onLost();
          await beforeRepeat?.();
          deadline.clear();
          deadline = startDeadline(timeoutMs);
          return request(body, itemsOfBody, deadline.signal);
        });
        const text = await textOf(response);
        measure(response.statusCode < 300 ? 'answered' : 'refused');
        return {
          statusCode: response.statusCode,
          text,
          retryAfterMs: retryAfterMs(response.headers['retry-after'], Date.now(), longestPauseMs),
        };
      } catch (error) {
        measure('failed');
        if (error instanceof TransportError) throw error;
        throw new TransportError(host, problemOf(error, timeoutMs));
      } finally {
        deadline.clear();
      }
    },
    calls: () => ({ http, items }),
    close: async () => void (await Promise.all([...pools.values()].map((pool) => pool.destroy()))),
  };
}

/** Where requests go. */
type Place = Pick<RpcTarget, 'origin' | 'path'>;

/** Returns where a redirect leads that keeps the method; null: it is none, or leads to another host, which must not get the URL's keys. */
function redirectOf({ statusCode, headers: { location } }: Dispatcher.ResponseData, at: Place): Place | null {
  if ((statusCode !== 307 && statusCode !== 308) || typeof location !== 'string' || !URL.canParse(location, `${at.origin}${at.path}`))
    return null;
  const to = new URL(location, `${at.origin}${at.path}`);
  const from = new URL(at.origin);
  const isUpgrade = from.protocol === 'http:' && to.protocol === 'https:' && from.hostname === to.hostname;
  return to.origin === from.origin || isUpgrade ? { origin: to.origin, path: `${to.pathname}${to.search}` } : null;
}

/** Reads the body, within the limit of its size also when it is decompressed. */
async function textOf({ headers, body }: Dispatcher.ResponseData): Promise<string> {
  const encoding = headers['content-encoding'];
  const decompress = typeof encoding === 'string' ? decompressions.get(encoding.trim().toLowerCase()) : undefined;
  if (decompress === undefined) return body.text();
  const bytes = await decompress(Buffer.from(await body.arrayBuffer()), { maxOutputLength: maxResponseBytes });
  return bytes.toString();
}

/** Returns an error's code; null if it has none. */
export function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}

function wasClosed(error: unknown): boolean {
  return ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(codeOf(error) ?? '');
}

/** Names the error by its code or class. Its message is not used, since libraries may put the URL into it. */
function problemOf(error: unknown, timeoutMs: number): string {
  if (error instanceof TimeoutError) return `no response within ${timeoutMs} ms`;
  return codeOf(error) ?? (error instanceof Error ? error.name : 'unknown error');
}
