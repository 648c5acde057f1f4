import { performance } from 'node:perf_hooks';
import { type Dispatcher, Pool } from 'undici';
import { percentDecoded } from '../../core/percent-decoded.js';
import type { Telemetry } from '../../core/ports/telemetry.js';
import { secretPartsOf } from '../../core/secret-parts.js';
import { TransportError } from './node-error.js';

/** Room for the receipts of a large block with logs. */
const greatestAnswerBytes = 32 * 1024 * 1024;
const connectTimeoutMs = 3_000;

/** Where an RPC URL leads, taken apart so that errors and logs can name its host and nothing else. */
export interface RpcTarget {
  readonly origin: string;
  readonly host: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Parts of the URL that a node may echo. */
  readonly secrets: readonly string[];
}

/** What one URL was asked since it was opened. */
export interface HostCalls {
  readonly host: string;
  /** HTTP requests. */
  readonly http: number;
  /** JSON-RPC calls in them. */
  readonly items: number;
  /** Requests that got no answer. */
  readonly failures: number;
}

/** An HTTP answer, whatever its status. */
export interface HttpAnswer {
  readonly statusCode: number;
  readonly text: string;
  /** What `Retry-After` says; null without one. */
  readonly retryAfterMs: number | null;
}

/** Posts bodies to one URL and counts them. */
export interface HttpWire {
  /**
   * `items`: JSON-RPC calls in the body. `beforeRepeat`: what must be known again before the body is sent on another connection.
   * Throws `TransportError`.
   */
  post(body: string, items: number, beforeRepeat?: () => Promise<void>): Promise<HttpAnswer>;
  calls(): HostCalls;
  close(): Promise<void>;
}

/** What a wire works with. */
export interface HttpWireOptions {
  readonly target: RpcTarget;
  readonly networkName: string;
  /** For a whole request, connecting included. */
  readonly timeoutMs: number;
  /** Learns that a connection has ended: the next one may lead to another node. */
  readonly onLost: () => void;
  readonly telemetry: Telemetry;
}

/** Reads an RPC URL. Throws without its text when it cannot be read. */
export function rpcTargetFrom(text: string, networkName: string): RpcTarget {
  // `new URL` throws an error that holds the text.
  if (!URL.canParse(text)) throw new Error(`network ${networkName} has an RPC URL that cannot be read`);
  const url = new URL(text);
  const user = percentDecoded(url.username);
  const password = percentDecoded(url.password);
  const headers: Record<string, string> = { 'content-type': 'application/json', accept: 'application/json' };
  const credentials = user === '' && password === '' ? null : Buffer.from(`${user}:${password}`).toString('base64');
  if (credentials !== null) headers.authorization = `Basic ${credentials}`;
  const secrets = [...(credentials === null ? [] : [credentials]), ...secretPartsOf(url)];
  return { origin: url.origin, host: url.host, path: `${url.pathname}${url.search}`, headers, secrets };
}

/** Opens a pool of kept-alive connections. */
export function createHttpWire({ target, networkName, timeoutMs, onLost, telemetry }: HttpWireOptions): HttpWire {
  const { meter, tracer } = telemetry;
  const { host } = target;
  const pool = new Pool(target.origin, {
    connections: 64,
    connect: { timeout: Math.min(connectTimeoutMs, timeoutMs) },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    maxResponseSize: greatestAnswerBytes,
  });
  pool.on('disconnect', onLost);
  let http = 0;
  let items = 0;
  let failures = 0;

  function request(body: string, itemsOfBody: number): Promise<Dispatcher.ResponseData> {
    http += 1;
    items += itemsOfBody;
    const traceparent = tracer.current();
    const headers = traceparent === null ? target.headers : { ...target.headers, traceparent };
    return pool.request({ method: 'POST', path: target.path, headers, body, signal: AbortSignal.timeout(timeoutMs) });
  }

  return {
    async post(body, itemsOfBody, beforeRepeat) {
      const begunMs = performance.now();
      const ended = (result: 'answered' | 'refused' | 'failed') =>
        meter.nodeAsked(networkName, host, result, itemsOfBody, (performance.now() - begunMs) / 1000);
      try {
        // A kept-alive connection may be closed by the other side just as it is used: every call here can be repeated safely.
        const response = await request(body, itemsOfBody).catch(async (error: unknown) => {
          if (!wasClosed(error)) throw error;
          onLost();
          await beforeRepeat?.();
          return request(body, itemsOfBody);
        });
        const text = await response.body.text();
        ended(response.statusCode < 300 ? 'answered' : 'refused');
        return { statusCode: response.statusCode, text, retryAfterMs: retryAfterMsFrom(response.headers['retry-after']) };
      } catch (error) {
        ended('failed');
        if (error instanceof TransportError) throw error;
        failures += 1;
        throw new TransportError(host, troubleOf(error));
      }
    },
    calls: () => ({ host, http, items, failures }),
    close: () => pool.destroy(),
  };
}

/** Seconds, or a date (RFC 9110). */
function retryAfterMsFrom(header: string | string[] | undefined): number | null {
  if (typeof header !== 'string') return null;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : null;
}

function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}

function wasClosed(error: unknown): boolean {
  return ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(codeOf(error) ?? '');
}

/** A code or a class name: messages of libraries are not trusted to leave the URL out. */
function troubleOf(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return 'did not answer in time';
  return codeOf(error) ?? (error instanceof Error ? error.name : 'unknown trouble');
}
