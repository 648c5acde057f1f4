import { setMaxListeners } from 'node:events';
import type { DescMessage, DescMethod, Registry } from '@bufbuild/protobuf';
import { Code, ConnectError, type ConnectRouter, createConnectRouter, createContextKey, type Interceptor } from '@connectrpc/connect';
import { type Compression, createAsyncIterable, type UniversalHandler, type UniversalServerResponse } from '@connectrpc/connect/protocol';
import { compressionGzip } from '@connectrpc/connect-node';
import { hasTooManyValues } from '../../codec/value-limit.js';
import { DomainError } from '../../core/errors/errors.js';
import { orAborted } from '../../core/work/abort.js';
import type { Log } from '../../core/work/log.js';
import { createParallelLimit } from '../../core/work/parallel-limit.js';
import { backgroundTimers } from '../../core/work/timers.js';
import { callKey } from '../contract/call.js';
import { connectErrorFromDomainError } from '../contract/errors.js';
import type { MethodPlan } from '../contract/method-plan.js';
import { bodyTooLarge, maxUnlimitedBodyBytes, tooManyValues } from '../contract/shared-errors.js';
import { breakOff, endOnShutdown } from '../http/answer.js';
import { type ApiRequest, headersOf } from '../http/header.js';
import { isUnary, UnaryContext } from '../unary/dispatch.js';
import { discard, writeStream, writeUnaryAnswer } from './answers.js';
import type { RpcExchange } from './exchange.js';
import { base64Bytes, binaryWebType, textWebType } from './protocol-error.js';
import { refusedByConnect } from './refused-by-connect.js';
import { bodyOf, callerLeft, countedBody } from './request-body.js';
import { deadlineExceeded, hasOneRequest, type RpcHead } from './request-checks.js';
import { createStrictJson } from './strict-json.js';
import { compileUnaryEndpoint, isPlainUnary, serveUnary, type UnaryEndpoint } from './unary-calls.js';
import { untilAborted } from './until-aborted.js';

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

/**
 * Creates the adapter. It replaces the adapter of connect-node, which builds a URL from the caller's Host outside any promise (`Host:
 * 1.2.3.4.5` ends the process), prints to the console, and destroys the connection of a caller whose body is too large instead of
 * answering.
 */
export function createRpcAdapter({ services, interceptors, shutdownSignal, log, plans, jsonRegistry }: RpcAdapterOptions): RpcAdapter {
  // Every open stream listens to it, and Node warns about more than ten listeners.
  setMaxListeners(0, shutdownSignal);
  const router = createConnectRouter({ interceptors: [noteRead, ...interceptors, endAtDeadline] });
  const endpoints = new Map<DescMethod, UnaryEndpoint>();
  services({
    ...router,
    service(service, implementation, options) {
      for (const method of service.methods) {
        // Each method alone, because its limits apply where its messages are decompressed, and its definition where they are decoded.
        const readMaxBytes = plans.find((plan) => plan.method === method)?.maxBodyBytes ?? maxUnlimitedBodyBytes;
        const acceptCompression = [limited(compressionGzip, method.input)];
        const json = createStrictJson(method.input, jsonRegistry);
        const handled = { ...service, methods: [method] };
        router.service(handled, implementation, { ...options, readMaxBytes, acceptCompression, jsonOptions: json.options });
        if (isUnary(method)) endpoints.set(method, compileUnaryEndpoint(method, implementation, { interceptors, json, readMaxBytes }));
      }
      return router;
    },
  });

  function serve(handler: UniversalHandler, exchange: RpcExchange): void {
    const endpoint = endpoints.get(handler.method);
    if (endpoint === undefined || !isPlainUnary(exchange)) {
      serveByConnect(handler, exchange, exchange.request.iterator({ destroyOnReturn: false }));
      return;
    }
    const { head, response } = exchange;
    const protocolName = head.protocol === 'grpc' ? 'grpc' : 'connect';
    const context = new UnaryContext(endpoint.method, { ...exchange, protocolName, deadlineMs: head.deadlineMs });
    atDeadlineOf(exchange, (error) => {
      if (!response.headersSent) exchange.fail(error);
      context.end(error);
    });
    serveUnary(endpoint, exchange, context).then(
      (odd) => odd === null || response.headersSent || serveByConnect(handler, exchange, createAsyncIterable([odd])),
      (error: unknown) => {
        if (error instanceof DomainError) return response.headersSent ? undefined : exchange.fail(error);
        reportUnwritten(handler, exchange, error);
      },
    );
  }

  function serveByConnect(handler: UniversalHandler, exchange: RpcExchange, received: AsyncIterable<Uint8Array>): void {
    const { request, response, head, maxBytes, values, fail } = exchange;
    const isUnary = handler.method.methodKind === 'unary';
    const requestId = values.get(callKey)?.requestId ?? null;
    // Aborts the method if its caller has left, its deadline has passed or, for a stream, the service stops.
    const work = new AbortController();
    let isCallerGone = false;
    response.once('close', () => {
      isCallerGone = !response.writableEnded;
      if (isCallerGone) work.abort(callerLeft());
    });
    if (!isUnary) endOnShutdown(shutdownSignal, work, response);
    // Ends a call at its deadline: a unary one is answered at once, a stream ends itself. Its work may go on.
    const deadline = new AbortController();
    if (head.deadlineMs !== null) values.set(deadlineKey, deadline.signal);
    atDeadlineOf(exchange, (error) => {
      deadline.abort(error);
      if (isUnary && !response.headersSent) fail(error);
      work.abort(error);
    });
    const rules = { ...head, maxBytes, signal: work.signal };
    const body = bodyOf(received, rules);
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
        reportUnwritten(handler, exchange, error);
      });
  }

  function reportUnwritten(handler: UniversalHandler, { response, fail }: RpcExchange, error: unknown): void {
    log.error({ method: handler.requestPath, err: error }, 'an RPC response could not be written');
    if (response.headersSent) breakOff(response);
    else fail(new DomainError('internal', 'INTERNAL', 'Internal Server Error'));
  }

  return { handlers: new Map(router.handlers.map((handler) => [handler.requestPath, handler])), serve };
}

/** Calls back with the error of a deadline that passes before the response is closed. */
function atDeadlineOf({ head, response }: RpcExchange, onPassed: (error: DomainError) => void): void {
  if (head.deadlineMs === null) return;
  response.once(
    'close',
    backgroundTimers.after(head.deadlineMs, () => onPassed(deadlineExceeded())),
  );
}

/** Decompressions that run at the same time: fewer than the threads that they share with the disk, with DNS and with keystores. */
const parallelDecompressions = 2;

const { run: inTurn } = createParallelLimit(parallelDecompressions);

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

/*
 * `application/grpc-web-text` is gRPC-Web in base64, which browsers can read while it arrives. Connect serves only the binary form, so the
 * adapter translates: the request's headers here and its body in `bodyOf`, and the whole response.
 */

/** Returns the headers as Connect should see them: the binary content type, and a deadline that it can read in a timer. */
function headersForConnect(request: ApiRequest, { isText, protocol, deadlineMs }: RpcHead): Headers {
  const headers = headersOf(request);
  if (isText) headers.set('content-type', (headers.get('content-type') ?? '').toLowerCase().replace(textWebType, binaryWebType));
  if (deadlineMs !== null) {
    // The caller's may be above the limit.
    if (protocol.startsWith('grpc')) headers.set('grpc-timeout', `${Math.ceil(deadlineMs)}m`);
    else headers.set('connect-timeout-ms', String(deadlineMs));
  }
  return headers;
}

/** Returns the answer in base64. Each chunk is padded, so that a caller can decode all that it has received. */
function asText(answer: UniversalServerResponse): UniversalServerResponse {
  const header = new Headers(answer.header);
  header.set('content-type', (header.get('content-type') ?? '').replace(binaryWebType, textWebType));
  return answer.body === undefined ? { ...answer, header } : { ...answer, header, body: encodedText(answer.body) };
}

async function* encodedText(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) yield base64Bytes(chunk);
}
