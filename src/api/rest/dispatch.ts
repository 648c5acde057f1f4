import { create, type DescMethod, type DescMethodUnary, type DescService, type Message } from '@bufbuild/protobuf';
import {
  Code,
  ConnectError,
  type ContextValues,
  createContextKey,
  createContextValues,
  type HandlerContext,
  type Interceptor,
  type UnaryRequest,
  type UnaryResponse,
} from '@connectrpc/connect';
import { type Call, callKey } from '../contract/call.js';
import { isGone } from '../http/answer.js';
import { type Header, headersOf } from '../http/header.js';
import type { RestExchange } from './exchange.js';

/** The function that interceptors wrap. Connect does not export its name. */
type Next = Parameters<Interceptor>[0];

type UnaryMethod = (request: Message, context: HandlerContext) => Promise<Record<string, unknown>> | Record<string, unknown>;

/** True for methods with one request and one response. */
export function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === 'unary';
}

export type Dispatch = (message: Message, context: RestContext) => Promise<Message>;

/** Leads the innermost step to the context of its call, even if an interceptor replaced the request. */
const contextKey = createContextKey<RestContext | undefined>(undefined, { description: 'rest context' });

/**
 * Composes the implementation and the interceptors of RPC into one function, once per method. It does the same as Connect's
 * `invokeUnaryImplementation`, which is marked unstable, composes at each call, and copies the context, so that nothing in it can be lazy.
 */
export function composeDispatch(method: DescMethodUnary, implementation: object, interceptors: readonly Interceptor[]): Dispatch {
  const innermost = callMethod(method, implementation);
  const outermost = interceptors.reduceRight<Next>((next, interceptor) => interceptor(next), innermost);
  return async (message, context) => {
    context.values.set(contextKey, context);
    const response = await outermost(new RestRequest(method, message, context));
    return (response as UnaryResponse).message;
  };
}

function callMethod(method: DescMethodUnary, implementation: object): Next {
  const property: unknown = Reflect.get(implementation, method.localName);
  const run = typeof property === 'function' ? (property.bind(implementation) as UnaryMethod) : null;
  return async (request) => {
    const context = request.contextValues.get(contextKey);
    if (context === undefined) throw new Error('an interceptor replaced the context values of a REST call');
    if (run === null) throw new ConnectError(`${method.parent.typeName}.${method.name} is not implemented`, Code.Unimplemented);
    return new RestResponse(method, create(method.output, await run(request.message as Message, context)), context);
  };
}

/**
 * What services and interceptors see of a REST call. Costly parts are lazy: an abort controller and headers cost more than the rest
 * together.
 */
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

  /** Aborts when the caller leaves before the answer. */
  get signal(): AbortSignal {
    this.#signal ??= leavingSignal(this.#exchange);
    return this.#signal;
  }

  get requestHeader(): Headers {
    this.#requestHeader ??= headersOf(this.#exchange.request);
    return this.#requestHeader;
  }

  get responseHeader(): Headers {
    this.#responseHeader ??= new Headers();
    return this.#responseHeader;
  }

  /** REST has no trailers; the service drops what is set here. */
  get responseTrailer(): Headers {
    this.#responseTrailer ??= new Headers();
    return this.#responseTrailer;
  }

  /** REST has no deadlines. */
  readonly timeoutMs = (): undefined => undefined;

  /** The response headers that the service or an interceptor has set. */
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

/*
 * Headers and signal are lazy, so they are getters. They are getters of a class, because each object literal with getters gets a hidden class
 * of its own, which is costly and keeps everything that the getters refer to until a full garbage collection. A copy by `{...request}` lacks
 * them, so interceptors must pass unary requests and responses on as they are.
 */

/** The fields that a request and a response share. */
class RestMessage {
  readonly stream = false as const;
  readonly service: DescService;
  readonly method: DescMethodUnary;
  readonly message: Message;
  protected readonly context: RestContext;

  constructor(method: DescMethodUnary, message: Message, context: RestContext) {
    this.service = method.parent;
    this.method = method;
    this.message = message;
    this.context = context;
  }
}

class RestRequest extends RestMessage implements UnaryRequest {
  get contextValues(): ContextValues {
    return this.context.values;
  }

  get requestMethod(): string {
    return this.context.requestMethod;
  }

  get url(): string {
    return this.context.url;
  }

  get signal(): AbortSignal {
    return this.context.signal;
  }

  get header(): Headers {
    return this.context.requestHeader;
  }
}

class RestResponse extends RestMessage implements UnaryResponse {
  get header(): Headers {
    return this.context.responseHeader;
  }

  get trailer(): Headers {
    return this.context.responseTrailer;
  }
}
