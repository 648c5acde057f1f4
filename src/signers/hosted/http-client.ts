import { Agent, request } from 'undici';
import { outsideText } from '../../core/text/safe-text.js';
import { withoutSecrets } from '../../core/text/without-secrets.js';
import { retryAfterMs } from '../../core/work/retry-after.js';
import { ProviderError, type ProviderLimits } from './key-provider.js';

/** A request to a provider's API. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as it is; absent: none. */
  readonly body?: string;
}

/** A provider's answer with a status below 300. */
export interface HttpAnswer {
  readonly status: number;
  /** Parsed JSON; undefined: the body is not JSON. */
  readonly json: unknown;
}

/** The HTTP client of one provider. */
export interface HttpClient {
  /** Sends a request and reads its answer. Throws `ProviderError`; see `HttpError` for answers with a status from 300. */
  send(wanted: HttpRequest, signal: AbortSignal): Promise<HttpAnswer>;
  /** Returns the beginning of a provider's text for an error, without credentials. */
  shown(text: string): string;
  close(): Promise<void>;
}

/** An answer with a status from 300. The message has the status and the beginning of the body. */
export class HttpError extends ProviderError {
  readonly status: number;

  constructor(status: number, text: string, retryAfterMs: number | null) {
    const problem = status === 429 ? 'throttled' : status >= 500 ? 'unreachable' : 'refused';
    super(problem, `HTTP ${status}: ${text}`, { retryAfterMs });
    this.status = status;
  }
}

/**
 * Returns the part of an error that the caller of a signer's API may see. A server that the caller named may be one that only the service
 * reaches, so what it answered goes to the log alone.
 */
export function sentenceForCaller(error: unknown): string {
  if (error instanceof HttpError) return `HTTP ${error.status}; the log has the answer`;
  return error instanceof Error ? error.message : String(error);
}

/** No answer of a provider is this large; a larger one is cut off. */
const maxAnswerBytes = 256 * 1024;
/** The part of an error's body that the log gets. */
const shownCharacters = 300;
/** The part that is searched for credentials, far more than is shown: the rest would only cost time. */
const searchedCharacters = 16_384;
/** Headers whose values are credentials. They are masked in the answer to their request, for others may have replaced them since. */
const credentialHeaders: ReadonlySet<string> = new Set(['authorization', 'x-identity-header', 'x-stamp', 'x-vault-token', 'x-wallet-auth']);
/** A key may have no other provider, so the service asks again at least this often. */
const longestRetryMs = 60_000;
const connectMs = 3_000;
const answerMs = 10_000;

/** The options of a client. */
interface HttpClientOptions {
  readonly limits: ProviderLimits;
  /** The credentials now: a provider that quotes one must not bring it into the log. */
  readonly secrets: () => readonly string[];
}

/** Makes a client with connections of its own. It follows no redirect, so that no other host gets the credentials. */
export function createHttpClient({ limits, secrets }: HttpClientOptions): HttpClient {
  const agent = new Agent({
    connections: limits.parallel,
    connect: limits.connect ?? { timeout: connectMs },
    headersTimeout: answerMs,
    bodyTimeout: answerMs,
    maxResponseSize: maxAnswerBytes,
  });

  function shown(text: string, own: readonly string[] = []): string {
    return outsideText(withoutSecrets(text.slice(0, searchedCharacters), [...secrets(), ...own]).slice(0, shownCharacters));
  }

  return {
    async send({ method, url, headers = {}, body }, signal) {
      const own = credentialsIn(headers);
      const { status, text, retryAfter } = await exchange();
      if (status >= 300) throw new HttpError(status, shown(text, own), retryAfterMs(retryAfter, Date.now(), longestRetryMs));
      return { status, json: jsonFrom(text) };

      async function exchange(): Promise<{ status: number; text: string; retryAfter: string | string[] | undefined }> {
        try {
          const sent = { accept: 'application/json', ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers };
          const answer = await request(url, { method, headers: sent, body: body ?? null, dispatcher: agent, signal });
          return { status: answer.statusCode, text: await answer.body.text(), retryAfter: answer.headers['retry-after'] };
        } catch (error) {
          throw new ProviderError('unreachable', shown(error instanceof Error ? error.message : String(error), own));
        }
      }
    },
    shown,
    close: () => agent.destroy(),
  };
}

/** Returns the credentials of a request, without the name of their scheme. */
function credentialsIn(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers).flatMap(([name, value]) => (credentialHeaders.has(name) ? (value.split(' ').at(-1) ?? []) : []));
}

function jsonFrom(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the text at a path of an answer; undefined if there is none. */
export function textAt(json: unknown, ...path: readonly string[]): string | undefined {
  const found = valueAt(json, ...path);
  return typeof found === 'string' ? found : undefined;
}

/** Returns the value at a path of an answer; undefined if there is none. */
export function valueAt(json: unknown, ...path: readonly string[]): unknown {
  let value: unknown = json;
  for (const key of path)
    value = typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
  return value;
}
