import { create, type DescMethod, type DescMethodUnary, type Message } from '@bufbuild/protobuf';
import {
  Code,
  ConnectError,
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
    const response = await outermost(requestOf(method, message, context));
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
    const message = create(method.output, await run(request.message as Message, context));
    return {
      stream: false,
      service: method.parent,
      method,
      message,
      get header() {
        return context.responseHeader;
      },
      get trailer() {
        return context.responseTrailer;
      },
    } satisfies UnaryResponse;
  };
}

function requestOf(method: DescMethodUnary, message: Message, context: RestContext): UnaryRequest {
  return {
    stream: false,
    service: method.parent,
    method,
    message,
    contextValues: context.values,
    requestMethod: context.requestMethod,
    url: context.url,
    get signal() {
      return context.signal;
    },
    get header() {
      return context.requestHeader;
    },
  };
}
