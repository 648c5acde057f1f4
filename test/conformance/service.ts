import { setTimeout as wait } from 'node:timers/promises';
import { create, type DescMessage, type DescMethod, type FileRegistry, type Message } from '@bufbuild/protobuf';
import { type Any, anyPack } from '@bufbuild/protobuf/wkt';
import { type Code, ConnectError, type HandlerContext } from '@connectrpc/connect';

const packageName = 'connectrpc.conformance.v1';

/** The suite's messages, as far as the service reads them. The definitions are loaded when the test starts, so nothing is generated. */
interface SuiteHeader {
  readonly name: string;
  readonly value: string[];
}

interface SuiteFailure {
  readonly code: Code;
  readonly message?: string;
  readonly details: Any[];
}

interface UnaryDefinition {
  readonly responseHeaders: SuiteHeader[];
  readonly responseTrailers: SuiteHeader[];
  readonly responseDelayMs: number;
  readonly response:
    | { readonly case: 'responseData'; readonly value: Uint8Array }
    | { readonly case: 'error'; readonly value: SuiteFailure }
    | { readonly case: undefined };
}

interface StreamDefinition {
  readonly responseHeaders: SuiteHeader[];
  readonly responseTrailers: SuiteHeader[];
  readonly responseDelayMs: number;
  readonly responseData: Uint8Array[];
  readonly error?: SuiteFailure;
}

type UnaryInput = Message & { readonly responseDefinition?: UnaryDefinition };
type StreamInput = Message & { readonly responseDefinition?: StreamDefinition; readonly fullDuplex?: boolean };

/** The errors that the suite asked for. They must reach the suite's client as they are. */
export const suiteErrors = new WeakSet<Error>();

/**
 * Implements the suite's `ConformanceService` as `service.proto` describes it: answers with the headers, messages, delays, trailers and
 * errors that each request asks for, and with what it saw of the request.
 */
export function conformanceService(registry: FileRegistry): object {
  const infoSchema = messageOf('ConformancePayload.RequestInfo');

  function messageOf(name: string): DescMessage {
    const schema = registry.getMessage(`${packageName}.${name}`);
    if (schema === undefined) throw new Error(`the suite defines no ${name}`);
    return schema;
  }

  /** The request as the service saw it: an init object of `RequestInfo`. */
  function infoOf(method: DescMethod, context: HandlerContext, requests: readonly Message[]): Record<string, unknown> {
    const timeoutMs = context.timeoutMs();
    const query = [...new URL(context.url).searchParams].map(([name, value]) => ({ name, value: [value] }));
    return {
      requestHeaders: [...context.requestHeader].map(([name, value]) => ({ name, value: [value] })),
      ...(timeoutMs === undefined ? {} : { timeoutMs: BigInt(Math.max(0, Math.round(timeoutMs))) }),
      requests: requests.map((request) => anyPack(method.input, request)),
      ...(query.length === 0 ? {} : { connectGetInfo: { queryParams: query } }),
    };
  }

  function failureOf(failure: SuiteFailure, info: Record<string, unknown> | null): ConnectError {
    const error = new ConnectError(failure.message ?? '', failure.code);
    const details = info === null ? failure.details : [...failure.details, anyPack(infoSchema, create(infoSchema, info))];
    error.details = details.map(({ typeUrl, value }) => ({ type: typeUrl.slice(typeUrl.lastIndexOf('/') + 1), value }));
    suiteErrors.add(error);
    return error;
  }

  async function answerOnce(
    method: DescMethod,
    requests: readonly UnaryInput[],
    context: HandlerContext,
  ): Promise<Record<string, unknown>> {
    const definition = requests[0]?.responseDefinition;
    const requestInfo = infoOf(method, context, requests);
    if (definition !== undefined) {
      addHeaders(definition, context);
      await pause(definition.responseDelayMs);
    }
    const response = definition?.response;
    if (response?.case === 'error') throw failureOf(response.value, requestInfo);
    return { payload: { requestInfo, ...(response?.case === 'responseData' ? { data: response.value } : {}) } };
  }

  async function* answerMany(
    method: DescMethod,
    inputs: AsyncIterable<StreamInput>,
    context: HandlerContext,
  ): AsyncGenerator<Record<string, unknown>> {
    let definition: StreamDefinition | undefined;
    let isFirst = true;
    let isFullDuplex = false;
    let requests: StreamInput[] = [];
    let sent = 0;
    for await (const input of inputs) {
      requests.push(input);
      if (isFirst) {
        definition = input.responseDefinition;
        isFullDuplex = input.fullDuplex === true;
        isFirst = false;
        if (definition !== undefined) addHeaders(definition, context);
      }
      if (!isFullDuplex) continue;
      const data = definition?.responseData[sent];
      if (data === undefined) break;
      const info = infoOf(method, context, requests);
      const requestInfo = sent === 0 ? info : { requests: info.requests };
      await pause(definition?.responseDelayMs ?? 0);
      yield { payload: { data, requestInfo } };
      sent += 1;
      requests = [];
    }
    if (definition === undefined) return;
    for (const data of definition.responseData.slice(sent)) {
      const requestInfo = sent === 0 ? infoOf(method, context, requests) : undefined;
      await pause(definition.responseDelayMs);
      yield { payload: { data, ...(requestInfo === undefined ? {} : { requestInfo }) } };
      sent += 1;
    }
    if (definition.error !== undefined) throw failureOf(definition.error, sent === 0 ? infoOf(method, context, requests) : null);
  }

  return {
    unary: (request: UnaryInput, context: HandlerContext) => answerOnce(context.method, [request], context),
    idempotentUnary: (request: UnaryInput, context: HandlerContext) => answerOnce(context.method, [request], context),
    async clientStream(requests: AsyncIterable<UnaryInput>, context: HandlerContext) {
      const all: UnaryInput[] = [];
      for await (const request of requests) all.push(request);
      return answerOnce(context.method, all, context);
    },
    serverStream: (request: StreamInput, context: HandlerContext) => answerMany(context.method, only(request), context),
    bidiStream: (requests: AsyncIterable<StreamInput>, context: HandlerContext) => answerMany(context.method, requests, context),
  };
}

async function* only<T>(item: T): AsyncGenerator<T> {
  yield item;
}

function addHeaders({ responseHeaders, responseTrailers }: UnaryDefinition | StreamDefinition, context: HandlerContext): void {
  for (const { name, value } of responseHeaders) for (const one of value) context.responseHeader.append(name, one);
  for (const { name, value } of responseTrailers) for (const one of value) context.responseTrailer.append(name, one);
}

/** Waits although the deadline passes: the service has to end the call. */
async function pause(delayMs: number): Promise<void> {
  if (delayMs > 0) await wait(delayMs);
}
