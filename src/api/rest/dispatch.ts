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
import type { RestContext } from './rest-context.js';

/** What interceptors wrap. Connect does not export the name. */
type Next = Parameters<Interceptor>[0];

/** A unary method of a service implementation. */
type UnaryMethod = (request: Message, context: HandlerContext) => Promise<Record<string, unknown>> | Record<string, unknown>;

/** True for methods with one request and one response. */
export function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === 'unary';
}

/** Calls a method in process. */
export type Dispatch = (message: Message, context: RestContext) => Promise<Message>;

/** How the innermost step finds the context of its call, whatever interceptors made of the request. */
const contextKey = createContextKey<RestContext | undefined>(undefined, { description: 'rest context' });

/**
 * Composes a method of the implementation that RPC uses with the interceptors that RPC uses, once. It does what Connect's own
 * `invokeUnaryImplementation` does, which is marked unstable, composes at each call, and copies the context, so that nothing in it can be lazy.
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

/*
 * Headers and signal are made only when somebody asks, so they are getters; and getters of a class, since each object literal with getters gets
 * a hidden class of its own, which is dear to make and keeps all that the getters see until a full garbage collection. The price: a copy by
 * `{...request}` would lack them, so interceptors must pass unary requests and responses on as they are.
 */

/** What a request and a response have in common. */
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

/** A unary request as interceptors see it. */
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

/** A unary response as interceptors see it. */
class RestResponse extends RestMessage implements UnaryResponse {
  get header(): Headers {
    return this.context.responseHeader;
  }

  get trailer(): Headers {
    return this.context.responseTrailer;
  }
}
