import type { DescMethod, Message } from '@bufbuild/protobuf';
import { Code, ConnectError, type ContextValues, type HandlerContext, type Interceptor, type StreamRequest } from '@connectrpc/connect';
import { fieldRulesOf } from '../../codec/field-rules.js';
import type { CodecCompiler } from '../../codec/message-codec.js';
import type { Properties, ValueCodec } from '../../codec/reading.js';
import type { MethodPlan } from '../contract/method-plan.js';
import type { ApiRequest } from '../http/header.js';
import { headersOf } from '../http/header.js';

/*
 * A stream of a method as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html): the case of the message's
 * union is the kind of the event, its JSON the data, and its resume token the id, which clients send back as `Last-Event-ID`.
 */

/** Writes a message of a stream as an event. */
export type EventWriter = (message: Message) => string;

/** The function that interceptors wrap. Connect does not export its name. */
type Next = Parameters<Interceptor>[0];

/** Compiles the writer of a method's messages. Throws if they are not a union and an id, so that the service does not start. */
export function compileEventWriter({ method, rpcPath }: MethodPlan, compiler: CodecCompiler): EventWriter {
  const [union, ...others] = method.output.oneofs;
  const id = method.output.fields.find((field) => fieldRulesOf(field).lastEventId);
  if (union === undefined || others.length > 0 || id === undefined)
    throw new Error(`${rpcPath} is a stream of messages that are no events`);
  const cases = new Map<string, { name: string; codec: ValueCodec }>(
    union.fields.map((field) => [field.localName, { name: field.name, codec: compiler.field(field) }]),
  );
  // All watches of a relayer get the same message of a change.
  const known = new WeakMap<Message, string>();
  return (message) => {
    const before = known.get(message);
    if (before !== undefined) return before;
    const properties = message as unknown as Properties;
    const held = properties[union.localName] as { readonly case: string; readonly value: unknown };
    const { name, codec } = cases.get(held.case) ?? {};
    if (name === undefined || codec === undefined) throw new Error(`${rpcPath} sent a message without a case`);
    const text = eventText(name, codec.write(held.value), String(properties[id.localName]));
    known.set(message, text);
    return text;
  };
}

/** The text of an event. The data must have no line breaks, which JSON has only if it is indented. */
export function eventText(name: string, data: string, id: string | null): string {
  return `event: ${name}\n${id === null ? '' : `id: ${id}\n`}data: ${data}\n\n`;
}

/** What a stream's call needs besides its message. */
export interface StreamExchange {
  readonly request: ApiRequest;
  readonly values: ContextValues;
  /** Ends the stream. */
  readonly signal: AbortSignal;
}

/** Starts a stream with its interceptors. Rejects, and the stream throws, with the errors that the outermost one makes. */
export type OpenEvents = (message: Message, exchange: StreamExchange) => Promise<AsyncIterable<Message>>;

/** Composes the implementation and the interceptors of RPC into one function, once per method. */
export function composeStream(method: DescMethod, implementation: object, interceptors: readonly Interceptor[]): OpenEvents {
  const property: unknown = Reflect.get(implementation, method.localName);
  if (typeof property !== 'function') {
    return () => Promise.reject(new ConnectError(`${method.parent.typeName}.${method.name} is not implemented`, Code.Unimplemented));
  }
  const run = property.bind(implementation) as (request: Message, context: HandlerContext) => AsyncIterable<Message>;
  const innermost: Next = async (request) => {
    const { message } = request as StreamRequest;
    // The gate checks the request while it is read.
    const messages = (async function* () {
      for await (const read of message) yield* run(read as Message, contextOf(request as StreamRequest));
    })();
    return { stream: true, service: method.parent, method, header: new Headers(), trailer: new Headers(), message: messages } as never;
  };
  const outermost = interceptors.reduceRight<Next>((next, interceptor) => interceptor(next), innermost);
  return async (message, { request, values, signal }) => {
    const call = {
      stream: true as const,
      service: method.parent,
      method,
      requestMethod: request.method ?? '',
      url: `http://relayer${request.url ?? ''}`,
      signal,
      header: headersOf(request),
      contextValues: values,
      message: (async function* () {
        yield message;
      })(),
    };
    const response = await outermost(call as never);
    return response.message as AsyncIterable<Message>;
  };
}

function contextOf({ method, service, requestMethod, url, signal, header, contextValues }: StreamRequest): HandlerContext {
  return {
    method,
    service,
    requestMethod,
    url,
    signal,
    timeoutMs: () => undefined,
    requestHeader: header,
    responseHeader: new Headers(),
    responseTrailer: new Headers(),
    protocolName: 'rest',
    values: contextValues,
  };
}
