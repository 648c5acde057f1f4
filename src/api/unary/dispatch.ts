import { create, type DescMethod, type DescMethodUnary, type DescService, type Message } from '@bufbuild/protobuf';
import {
  Code,
  ConnectError,
  type ContextValues,
  createContextKey,
  type HandlerContext,
  type Interceptor,
  type UnaryRequest,
  type UnaryResponse,
} from '@connectrpc/connect';
import { callKey } from '../contract/call.js';
import { isGone } from '../http/answer.js';
import { type ApiRequest, type ApiResponse, type Header, headersOf } from '../http/header.js';

/** The function that interceptors wrap. Connect does not export its name. */
type Next = Parameters<Interceptor>[0];

type UnaryMethod = (request: Message, context: HandlerContext) => Promise<Record<string, unknown>> | Record<string, unknown>;

/** True for methods with one request and one response. */
export function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === 'unary';
}

/**
 * Runs a unary method with its interceptors. Rejects with the errors that they throw: ConnectErrors, since the outermost one translates
 * every error.
 */
export type Dispatch = (message: Message, context: UnaryContext) => Promise<Message>;

/** Leads the innermost step to the context of its call, even if an interceptor replaced the request. */
const contextKey = createContextKey<UnaryContext | undefined>(undefined, { description: 'unary context' });

/**
 * Composes the implementation and the interceptors of RPC into one function, once per method. It does the same as Connect's
 * `invokeUnaryImplementation`, which is marked unstable, composes at each call, and copies the context, so that nothing in it can be lazy.
 */
export function composeDispatch(method: DescMethodUnary, implementation: object, interceptors: readonly Interceptor[]): Dispatch {
  const innermost = callMethod(method, implementation);
  const outermost = interceptors.reduceRight<Next>((next, interceptor) => interceptor(next), innermost);
  return async (message, context) => {
    context.values.set(contextKey, context);
    const response = await outermost(new UnaryCallRequest(method, message, context));
    return (response as UnaryResponse).message;
  };
}

function callMethod(method: DescMethodUnary, implementation: object): Next {
  const property: unknown = Reflect.get(implementation, method.localName);
  const run = typeof property === 'function' ? (property.bind(implementation) as UnaryMethod) : null;
  return async (request) => {
    const context = request.contextValues.get(contextKey);
    if (context === undefined) throw new Error('an interceptor replaced the context values of a unary call');
    // The gate throws it earlier, with the other problems, for the methods that have rules.
    const problem = context.values.get(callKey)?.bodyProblem;
    if (problem != null) throw problem;
    if (run === null) throw new ConnectError(`${method.parent.typeName}.${method.name} is not implemented`, Code.Unimplemented);
    return new UnaryCallResponse(method, create(method.output, await run(request.message as Message, context)), context);
  };
}

/** A unary call as its door received it. */
export interface UnaryExchange {
  readonly request: ApiRequest;
  readonly response: ApiResponse;
  /** Holds the call. */
  readonly values: ContextValues;
  readonly protocolName: 'rest' | 'connect' | 'grpc';
  /** Null: none. */
  readonly deadlineMs: number | null;
}

/**
 * A unary call as services and interceptors see it. Costly parts are lazy: an abort controller and headers cost more than the rest
 * together.
 */
export class UnaryContext implements HandlerContext {
  readonly method: DescMethodUnary;
  readonly #exchange: UnaryExchange;
  readonly #deadlineAtMs: number | null;
  #work: AbortController | null = null;
  #end: { readonly reason: unknown } | null = null;
  #requestHeader: Headers | null = null;
  #responseHeader: Headers | null = null;
  #responseTrailer: Headers | null = null;

  constructor(method: DescMethodUnary, exchange: UnaryExchange) {
    this.method = method;
    this.#exchange = exchange;
    this.#deadlineAtMs = exchange.deadlineMs === null ? null : performance.now() + exchange.deadlineMs;
  }

  get values(): ContextValues {
    return this.#exchange.values;
  }

  get protocolName(): string {
    return this.#exchange.protocolName;
  }

  get service(): DescService {
    return this.method.parent;
  }

  get requestMethod(): string {
    return this.#exchange.request.method ?? '';
  }

  /** Without the caller's host, which is not checked any further. */
  get url(): string {
    return `http://relayer${this.#exchange.request.url ?? ''}`;
  }

  /** Aborts when the caller leaves before the answer, or when the call is ended. */
  get signal(): AbortSignal {
    this.#work ??= this.#createWork();
    return this.#work.signal;
  }

  /** Ends the call before its answer, for example at its deadline: its work may stop. */
  end(reason: unknown): void {
    this.#end ??= { reason };
    this.#work?.abort(reason);
  }

  get requestHeader(): Headers {
    this.#requestHeader ??= headersOf(this.#exchange.request);
    return this.#requestHeader;
  }

  get responseHeader(): Headers {
    this.#responseHeader ??= new Headers();
    return this.#responseHeader;
  }

  /** REST has no trailers, and drops the trailers set here. */
  get responseTrailer(): Headers {
    this.#responseTrailer ??= new Headers();
    return this.#responseTrailer;
  }

  readonly timeoutMs = (): number | undefined => (this.#deadlineAtMs === null ? undefined : this.#deadlineAtMs - performance.now());

  /** The response headers that the service or an interceptor has set. */
  get answerHeaders(): readonly Header[] {
    return this.#responseHeader === null ? [] : [...this.#responseHeader];
  }

  /** The trailers that they have set. */
  get answerTrailers(): readonly Header[] {
    return this.#responseTrailer === null ? [] : [...this.#responseTrailer];
  }

  #createWork(): AbortController {
    const { response } = this.#exchange;
    const work = new AbortController();
    if (this.#end !== null) work.abort(this.#end.reason);
    else if (isGone(response)) work.abort();
    else response.once('close', () => response.writableEnded || work.abort());
    return work;
  }
}

/*
 * Headers and signal are lazy, so they are getters. They are getters of a class, because each object literal with getters gets a hidden
 * class of its own, which is costly and keeps everything that the getters refer to until a full garbage collection. A copy by
 * `{...request}` lacks them, so interceptors must pass unary requests and responses on as they are.
 */

/** The fields that a request and a response share. */
class UnaryCallMessage {
  readonly stream = false as const;
  readonly service: DescService;
  readonly method: DescMethodUnary;
  readonly message: Message;
  protected readonly context: UnaryContext;

  constructor(method: DescMethodUnary, message: Message, context: UnaryContext) {
    this.service = method.parent;
    this.method = method;
    this.message = message;
    this.context = context;
  }
}

class UnaryCallRequest extends UnaryCallMessage implements UnaryRequest {
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

class UnaryCallResponse extends UnaryCallMessage implements UnaryResponse {
  get header(): Headers {
    return this.context.responseHeader;
  }

  get trailer(): Headers {
    return this.context.responseTrailer;
  }
}
