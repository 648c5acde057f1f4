import type { DescMethodUnary, DescService } from '@bufbuild/protobuf';
import { type ContextValues, createContextValues, type HandlerContext } from '@connectrpc/connect';
import { type Call, callKey } from '../contract/call.js';
import type { ApiResponse, Header } from '../http/header.js';
import type { RestExchange } from './exchange.js';

/** What services and interceptors may know of a REST call. Made lazily where it is dear: an abort controller and headers cost more than the rest together. */
export class RestContext implements HandlerContext {
  readonly protocolName = 'rest';
  readonly method: DescMethodUnary;
  readonly values: ContextValues;
  readonly #exchange: RestExchange;
  #signal: AbortSignal | null = null;
  #requestHeader: Headers | null = null;
  #responseHeader: Headers | null = null;
  #responseTrailer: Headers | null = null;

  constructor(method: DescMethodUnary, exchange: RestExchange, call: Call) {
    this.method = method;
    this.#exchange = exchange;
    this.values = createContextValues().set(callKey, call);
  }

  get service(): DescService {
    return this.method.parent;
  }

  get requestMethod(): string {
    return this.#exchange.request.method ?? '';
  }

  get url(): string {
    return this.#exchange.request.url ?? '';
  }

  /** Aborted when the caller leaves before it is answered. */
  get signal(): AbortSignal {
    this.#signal ??= leavingSignal(this.#exchange);
    return this.#signal;
  }

  get requestHeader(): Headers {
    this.#requestHeader ??= headersFrom(this.#exchange.request.rawHeaders);
    return this.#requestHeader;
  }

  get responseHeader(): Headers {
    this.#responseHeader ??= new Headers();
    return this.#responseHeader;
  }

  /** REST has none; what is set here is dropped. */
  get responseTrailer(): Headers {
    this.#responseTrailer ??= new Headers();
    return this.#responseTrailer;
  }

  /** REST has no deadlines. */
  readonly timeoutMs = (): undefined => undefined;

  /** The response headers that somebody set. */
  get answerHeaders(): readonly Header[] {
    return this.#responseHeader === null ? [] : [...this.#responseHeader];
  }
}

function leavingSignal({ response }: RestExchange): AbortSignal {
  const controller = new AbortController();
  if (isGone(response)) controller.abort();
  else response.once('close', () => response.writableEnded || controller.abort());
  return controller.signal;
}

/** True where the answer has nowhere to go. Only one of the two HTTP versions says so of the response itself. */
function isGone(response: ApiResponse): boolean {
  return 'stream' in response ? response.stream?.destroyed !== false : response.destroyed;
}

function headersFrom(raw: readonly string[]): Headers {
  const headers = new Headers();
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index] ?? '';
    if (!name.startsWith(':')) headers.append(name, raw[index + 1] ?? '');
  }
  return headers;
}
