import { type Dispatcher, Pool } from 'undici';
import type { Log } from '../../core/ports/log.js';
import { NodeError, TransportError } from './node-error.js';
import { nodeText } from './node-text.js';

/** Room for the receipt of a transaction that fills a large block with logs. */
const greatestAnswerBytes = 32 * 1024 * 1024;
const connectTimeoutMs = 3_000;
/** How long a URL that failed is asked only after the others. */
const restAfterFailureMs = 5_000;
/** How long a URL of another chain is not asked at all. */
const restAfterWrongChainMs = 60_000;

/** One URL of a network. */
export interface Endpoint {
  /** True while it failed of late and others should be asked first. */
  isResting(): boolean;
  /** The result. Throws `NodeError` for the node's refusal, `TransportError` when it cannot be asked or is on another chain. */
  call(method: string, params: readonly unknown[]): Promise<unknown>;
  close(): Promise<void>;
}

/** What an endpoint needs. */
export interface EndpointOptions {
  readonly url: string;
  /** What `eth_chainId` must say before anything else is sent. */
  readonly chainId: bigint;
  readonly networkName: string;
  /** For a whole call, connecting included. */
  readonly timeoutMs: number;
  readonly log: Log;
}

/** Opens a URL lazily, with a pool of kept-alive connections. Neither errors nor logs have more of the URL than its host. */
export function createEndpoint({ url, chainId, networkName, timeoutMs, log }: EndpointOptions): Endpoint {
  const target = targetFrom(url, networkName);
  const { host } = target;
  const pool = new Pool(target.origin, {
    connections: 64,
    connect: { timeout: Math.min(connectTimeoutMs, timeoutMs) },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    maxResponseSize: greatestAnswerBytes,
  });
  let verification: Promise<void> | null = null;
  let restsUntilMs = 0;
  let isOnAnotherChain = false;

  async function post(method: string, params: readonly unknown[]): Promise<unknown> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const request = (): Promise<Dispatcher.ResponseData> =>
      pool.request({ method: 'POST', path: target.path, headers: target.headers, body, signal: AbortSignal.timeout(timeoutMs) });
    let statusCode: number;
    let text: string;
    try {
      // A kept-alive connection may be closed by the other side just as it is used: every call here can be repeated safely.
      const response = await request().catch((error: unknown) => {
        if (!wasClosed(error)) throw error;
        return request();
      });
      statusCode = response.statusCode;
      text = await response.body.text();
    } catch (error) {
      throw new TransportError(host, troubleOf(error));
    }
    return resultFrom(statusCode, text);
  }

  function resultFrom(statusCode: number, text: string): unknown {
    const answer = parsed(text);
    if (answer?.error !== undefined && answer.error !== null) throw nodeErrorFrom(answer.error, statusCode, target.secrets);
    if (statusCode < 200 || statusCode > 299) throw new TransportError(host, `answered HTTP ${statusCode}`);
    if (answer === null || answer.result === undefined) throw new TransportError(host, 'answered no JSON-RPC');
    return answer.result;
  }

  async function verify(): Promise<void> {
    isOnAnotherChain = false;
    const answer = await post('eth_chainId', []);
    const isRight = typeof answer === 'string' && /^0x[0-9a-f]{1,64}$/i.test(answer) && BigInt(answer) === chainId;
    if (isRight) return;
    isOnAnotherChain = true;
    restsUntilMs = Date.now() + restAfterWrongChainMs;
    log.error(
      { network: networkName, host, expected: chainId.toString(), answered: nodeText(String(answer)) },
      'an RPC URL is on another chain and is not used',
    );
    throw new TransportError(host, 'is on another chain');
  }

  function failed(error: TransportError): void {
    verification = null;
    if (isOnAnotherChain) return;
    if (restsUntilMs === 0) log.warn({ network: networkName, trouble: error.message }, 'an RPC URL cannot be asked');
    restsUntilMs = Date.now() + restAfterFailureMs;
  }

  return {
    isResting: () => Date.now() < restsUntilMs,
    async call(method, params) {
      if (isOnAnotherChain && Date.now() < restsUntilMs) throw new TransportError(host, 'is on another chain');
      try {
        verification ??= verify().catch((error: unknown) => {
          verification = null;
          throw error;
        });
        await verification;
        const result = await post(method, params);
        if (restsUntilMs !== 0) log.info({ network: networkName, host }, 'an RPC URL can be asked again');
        restsUntilMs = 0;
        return result;
      } catch (error) {
        if (error instanceof TransportError) failed(error);
        throw error;
      }
    },
    close: () => pool.destroy(),
  };
}

interface Target {
  readonly origin: string;
  readonly host: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Parts of the URL that a node may echo. */
  readonly secrets: readonly string[];
}

function targetFrom(text: string, networkName: string): Target {
  // `new URL` throws an error that holds the text.
  if (!URL.canParse(text)) throw new Error(`network ${networkName} has an RPC URL that cannot be read`);
  const url = new URL(text);
  const user = decodeURIComponent(url.username);
  const password = decodeURIComponent(url.password);
  const headers: Record<string, string> = { 'content-type': 'application/json', accept: 'application/json' };
  if (user !== '' || password !== '') headers.authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  const secrets = [...url.pathname.split('/'), ...url.searchParams.values(), user, password].filter((part) => part.length >= 6);
  return { origin: url.origin, host: url.host, path: `${url.pathname}${url.search}`, headers, secrets };
}

function parsed(text: string): { readonly result?: unknown; readonly error?: unknown } | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : null;
  } catch {
    return null;
  }
}

/** Limit exceeded, resource unavailable, internal error. */
const busyCodes: readonly number[] = [-32005, -32002, -32603];

function nodeErrorFrom(error: unknown, statusCode: number, secrets: readonly string[]): NodeError {
  const { code, message, data } = typeof error === 'object' && error !== null ? (error as Record<string, unknown>) : {};
  const codeNumber = typeof code === 'number' ? code : 0;
  const text = secrets.reduce((rest, secret) => rest.replaceAll(secret, '***'), typeof message === 'string' ? message : 'no message');
  const hex = typeof data === 'string' ? (/0x(?:[0-9a-f]{2})*/i.exec(data)?.[0].toLowerCase() ?? null) : null;
  const isBusy = (statusCode !== 400 && (statusCode < 200 || statusCode > 299)) || busyCodes.includes(codeNumber);
  return new NodeError(codeNumber, nodeText(text), hex, isBusy);
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
