import { setMaxListeners } from 'node:events';
import type { DescMessage, JsonReadOptions, Registry } from '@bufbuild/protobuf';
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type ContextValues,
  createConnectRouter,
  createContextKey,
  type Interceptor,
} from '@connectrpc/connect';
import type { Compression, UniversalHandler, UniversalServerResponse } from '@connectrpc/connect/protocol';
import { compressionGzip } from '@connectrpc/connect-node';
import { StrictFields } from '../../codec/strict-fields.js';
import { withMaskInCamelCase } from '../../codec/update-mask.js';
import { hasTooManyValues, maxValues } from '../../codec/value-limit.js';
import { DomainError, invalidFields } from '../../core/errors.js';
import { limitParallel } from '../../core/limit-parallel.js';
import type { Log } from '../../core/ports/log.js';
import { hasMoreValues } from '../../json/json-reader.js';
import { callKey } from '../contract/call.js';
import { connectErrorFromDomainError } from '../contract/errors.js';
import type { MethodPlan } from '../contract/method-plan.js';
import { bodyTooLarge, maxUnlimitedBodyBytes, tooManyValues } from '../contract/shared-errors.js';
import { breakOff, isGone } from '../http/answer.js';
import type { ApiRequest, ApiResponse } from '../http/header.js';
import { encodeGrpcMessagePlainly } from './protocol-error.js';
import { refusedByConnect } from './refused-by-connect.js';
import { bodyOf, callerLeft, countedBody } from './request-body.js';
import { deadlineExceeded, hasOneRequest, type RpcHead } from './request-checks.js';
import { asText, headersForConnect } from './text-encoding.js';
import { orAborted, untilAborted } from './until-aborted.js';

/** True once Connect has read the call's message, or hands it over as a stream. */
const isReadKey = createContextKey(false, { description: 'the request was read' });

/** Aborts when the deadline of the call passes. */
const deadlineKey = createContextKey<AbortSignal | null>(null, { description: 'the deadline' });

/** Ends a stream at its deadline, even while it waits. A unary call needs no interceptor, because its answer has not begun. */
const endAtDeadline: Interceptor = (next) => async (request) => {
  const deadline = request.contextValues.get(deadlineKey);
  if (deadline === null || !request.stream) return next(request);
  const response = await orAborted(next(request), deadline);
  return response.stream ? { ...response, message: untilAborted(response.message, deadline) } : response;
};

const noteRead: Interceptor = (next) => (request) => {
  request.contextValues.set(isReadKey, true);
  return next(request);
};

/** Refuses bytes that are not UTF-8; by default they would be replaced, and the service would sign something other than what was sent. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

const surrogateEscape = /\\u[dD][89a-fA-F]/;

/** Connect fails to write an error that quotes half of a surrogate pair: it has no percent-encoding. Text that is not JSON has none. */
function hasLoneSurrogate(text: string): boolean {
  const isLone = (value: unknown): boolean => typeof value === 'string' && /\p{Surrogate}/u.test(value);
  let isFound = false;
  try {
    JSON.parse(text, (key, value: unknown) => {
      isFound ||= isLone(key) || isLone(value);
      return value;
    });
  } catch {
    return false;
  }
  return isFound;
}

/** The only place that has the text of a JSON message: rejects what protobuf's reader wrongly accepts, or reads only at great cost. */
function strictJsonOptions(fields: StrictFields): Partial<JsonReadOptions> & { textDecoder: object } {
  const decode = (bytes: Uint8Array): string => {
    const text = utf8.decode(bytes);
    if (hasMoreValues(text, maxValues)) throw connectErrorFromDomainError(tooManyValues(), null);
    if (surrogateEscape.test(text) && hasLoneSurrogate(text)) {
      throw connectErrorFromDomainError(
        new DomainError('invalid', 'BODY_MALFORMED', 'the body is not well-formed: it contains half of a surrogate pair'),
        null,
      );
    }
    const problems = fields.problemsIn(text);
    if (problems.length > 0) throw connectErrorFromDomainError(invalidFields(problems), null);
    return withMaskInCamelCase(text);
  };
  // Connect's default drops unknown fields and enum texts: a misspelt `speed` or `relayerIds` would pass as absent.
  return { textDecoder: { decode }, ignoreUnknownFields: false };
}

const nothing = new Uint8Array(0);

/** The signatures that the responses of both HTTP versions share, but do not declare in common. */
interface AnswerWriter {
  writeHead(status: number, headers: Readonly<Record<string, string>>): unknown;
  write(chunk: Uint8Array): boolean;
}

export interface RpcAdapterOptions {
  /** Registers every RPC service, the standard ones included. */
  readonly services: (router: ConnectRouter) => void;
  /** Outermost first. */
  readonly interceptors: readonly Interceptor[];
  /** Aborts when the service begins to stop, which ends all streams. */
  readonly shutdownSignal: AbortSignal;
  readonly log: Log;
  readonly plans: readonly MethodPlan[];
  /** The messages that JSON may hold in a `google.protobuf.Any`. Default: none. */
  readonly jsonRegistry?: Registry | undefined;
}

/** Connect's handlers, fed with Node's requests. */
export interface RpcAdapter {
  /** By path: `/relayer.v1.TransactionService/SendTransaction`. */
  readonly handlers: ReadonlyMap<string, UniversalHandler>;
  /** Reads the body, calls the method and writes the answer. Never throws; calls `fail` if no answer has begun. */
  serve(handler: UniversalHandler, exchange: RpcExchange): void;
}

/** An RPC whose headers have been checked, and its response. */
export interface RpcExchange {
  readonly request: ApiRequest;
  readonly response: ApiResponse;
  readonly head: RpcHead;
  /** The maximum size of a message in bytes. */
  readonly maxBytes: number;
  readonly values: ContextValues;
  /** Answers with an error in the caller's own protocol. */
  readonly fail: (error: DomainError) => void;
}

/**
 * Creates the adapter. It replaces that of connect-node, which builds a URL from the caller's Host outside any promise (`Host: 1.2.3.4.5`
 * ends the process), prints to the console, and destroys the connection of a caller whose body is too large instead of answering.
 */
export function createRpcAdapter({ services, interceptors, shutdownSignal, log, plans, jsonRegistry }: RpcAdapterOptions): RpcAdapter {
  // Every open stream listens to it, and Node warns about more than ten listeners.
  setMaxListeners(0, shutdownSignal);
  const fields = new StrictFields();
  const router = createConnectRouter({
    interceptors: [noteRead, ...interceptors, endAtDeadline],
    jsonOptions: { ...strictJsonOptions(fields), ...(jsonRegistry === undefined ? {} : { registry: jsonRegistry }) },
  });
  services({ ...router, service: (...registration) => addMethods(router, plans, ...registration) });
  for (const { method } of router.handlers) fields.add(method.input);

  /**
   * Ends a stream when the service begins to stop. A unary call runs to its end and does not listen for the shutdown: one listener per call
   * on a signal as old as the process makes garbage that only full collections free.
   */
  function endOnShutdown(work: AbortController, response: ApiResponse): void {
    const onStop = () => work.abort(new DomainError('unavailable', 'SERVICE_UNAVAILABLE', 'the service is stopping'));
    shutdownSignal.addEventListener('abort', onStop);
    response.once('close', () => shutdownSignal.removeEventListener('abort', onStop));
    if (shutdownSignal.aborted) onStop();
  }

  /** Ends a call at its deadline: a unary one is answered at once, a stream ends itself. Its work may go on. */
  function endAtDeadlineOf({ head, response, values, fail }: RpcExchange, work: AbortController, isUnary: boolean): void {
    if (head.deadlineMs === null) return;
    const deadline = new AbortController();
    values.set(deadlineKey, deadline.signal);
    const timer = setTimeout(() => {
      const error = deadlineExceeded();
      deadline.abort(error);
      if (isUnary && !response.headersSent) fail(error);
      work.abort(error);
    }, head.deadlineMs);
    response.once('close', () => clearTimeout(timer));
  }

  function serve(handler: UniversalHandler, exchange: RpcExchange): void {
    const { request, response, head, maxBytes, values, fail } = exchange;
    const isUnary = handler.method.methodKind === 'unary';
    const requestId = values.get(callKey)?.requestId ?? null;
    // What the method sees: its caller has left, its deadline has passed, or, for a stream, the service stops.
    const work = new AbortController();
    let isCallerGone = false;
    response.once('close', () => {
      isCallerGone = !response.writableEnded;
      if (isCallerGone) work.abort(callerLeft());
    });
    if (!isUnary) endOnShutdown(work, response);
    endAtDeadlineOf(exchange, work, isUnary);
    const rules = { ...head, maxBytes, signal: work.signal };
    const body = bodyOf(request, rules);
    handler({
      httpVersion: request.httpVersion,
      method: request.method ?? '',
      url: `http://relayer${request.url ?? ''}`,
      header: headersForConnect(request, head),
      body: hasOneRequest(handler) ? countedBody(body, rules, handler.method.input) : body,
      signal: work.signal,
      contextValues: values,
    })
      // Not awaited: over HTTP/1 this promise does not settle after a success.
      .then((answer) => (values.get(isReadKey) ? answer : refusedByConnect(answer, head.protocol)))
      .then((answer) => {
        if (answer instanceof DomainError) return isCallerGone || response.headersSent ? undefined : fail(answer);
        if (isCallerGone || (isUnary && response.headersSent)) return discard(answer);
        const written = head.isText ? asText(answer) : answer;
        return isUnary ? writeUnaryAnswer(written, response, requestId) : writeStream(written, response, requestId);
      })
      .catch((error: unknown) => {
        if (isCallerGone || (isUnary && response.headersSent)) return;
        log.error({ method: handler.requestPath, err: error }, 'an RPC response could not be written');
        if (response.headersSent) breakOff(response);
        else fail(new DomainError('internal', 'INTERNAL', 'Internal Server Error'));
      });
  }

  return { handlers: new Map(router.handlers.map((handler) => [handler.requestPath, handler])), serve };
}

/** Registers each method alone, because its limits apply where its messages are decompressed. */
function addMethods(
  router: ConnectRouter,
  plans: readonly MethodPlan[],
  ...[service, implementation, options]: Parameters<ConnectRouter['service']>
): ConnectRouter {
  for (const method of service.methods) {
    const readMaxBytes = plans.find((plan) => plan.method === method)?.maxBodyBytes ?? maxUnlimitedBodyBytes;
    const acceptCompression = [limited(compressionGzip, method.input)];
    router.service({ ...service, methods: [method] }, implementation, { ...options, readMaxBytes, acceptCompression });
  }
  return router;
}

/**
 * Writes the answer of a unary call. Reads it to its end first, so that head, body and trailers leave in one packet; connect-node writes
 * and awaits each part. Writes nothing if the caller has left.
 */
async function writeUnaryAnswer(answer: UniversalServerResponse, response: ApiResponse, requestId: string | null): Promise<void> {
  const body = answer.body === undefined ? nothing : await wholeOf(answer.body);
  if (isGone(response) || response.headersSent) return;
  const { header } = answer;
  if (answer.trailer !== undefined && body.length === 0) {
    // A failure. gRPC clients retry only a response that is nothing but trailers, which HTTP/2 sends as the only block of headers.
    response.statusCode = answer.status;
    for (const [name, value] of [...new Headers(header), ...completedTrailers(answer.trailer, requestId)]) response.setHeader(name, value);
    response.end();
    return;
  }
  (response as AnswerWriter).writeHead(answer.status, Object.fromEntries(header instanceof Headers ? header : new Headers(header)));
  // The status of gRPC is known only after the body.
  if (answer.trailer !== undefined) response.addTrailers(Object.fromEntries(completedTrailers(answer.trailer, requestId)));
  response.end(body);
}

/** There is nearly always one chunk. */
async function wholeOf(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  const [only = nothing] = all;
  return all.length > 1 ? Buffer.concat(all) : only;
}

/**
 * Writes the answer of a stream as it comes. Ends its source if the caller leaves, even while a write waits for that caller; connect-node's
 * writer would then wait forever, with the call's timer and its subscription to changes.
 */
async function writeStream(answer: UniversalServerResponse, response: ApiResponse, requestId: string | null): Promise<void> {
  const { status, header, trailer } = answer;
  (response as AnswerWriter).writeHead(status, Object.fromEntries(new Headers(header)));
  for await (const chunk of answer.body ?? []) {
    // Leaving the loop ends the source.
    if (isGone(response)) return;
    if (!(response as AnswerWriter).write(chunk)) await writable(response);
  }
  // Connect sets the status only after the body has ended.
  if (trailer !== undefined) response.addTrailers(Object.fromEntries(completedTrailers(new Headers(trailer), requestId)));
  response.end();
}

/** Resolves when more can be written, or when the response is closed. */
function writable(response: ApiResponse): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      response.off('drain', settle).off('close', settle);
      resolve();
    };
    response.on('drain', settle).on('close', settle);
  });
}

/** Ends the source of an answer without a reader: it has yielded its first bytes, and waits. */
function discard({ body }: UniversalServerResponse): void {
  body?.[Symbol.asyncIterator]()
    .return?.()
    .catch(() => undefined);
}

/** Encodes the message of a failure plainly and adds the request id: an error that a client catches has trailers, but no headers. */
function completedTrailers(trailers: Headers, requestId: string | null): Headers {
  if (requestId !== null && trailers.get('grpc-status') !== '0') trailers.set('x-request-id', requestId);
  return encodeGrpcMessagePlainly(trailers);
}

/** Decompressions that run at the same time: fewer than the threads that they share with the disk, with DNS and with keystores. */
const parallelDecompressions = 2;

const inTurn = limitParallel(parallelDecompressions);

/** Bounds how many messages are decompressed at once, and gives a reason to the rejection of one that is over a limit then. */
function limited(compression: Compression, input: DescMessage): Compression {
  return {
    ...compression,
    async decompress(bytes, readMaxBytes) {
      const message = await inTurn(() => compression.decompress(bytes, readMaxBytes)).catch((error: unknown) => {
        throw error instanceof ConnectError && error.code === Code.ResourceExhausted
          ? connectErrorFromDomainError(bodyTooLarge(readMaxBytes), null)
          : error;
      });
      // The text of a JSON message is no protobuf message; it is counted when it is decoded.
      if (hasTooManyValues(input, message)) throw connectErrorFromDomainError(tooManyValues(), null);
      return message;
    },
  };
}
