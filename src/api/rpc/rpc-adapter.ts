import { setMaxListeners } from 'node:events';
import type { JsonReadOptions } from '@bufbuild/protobuf';
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
import { compressionBrotli, compressionGzip, universalResponseToNodeResponse } from '@connectrpc/connect-node';
import { DomainError } from '../../core/errors.js';
import type { Log } from '../../core/ports/log.js';
import { connectErrorFromDomainError } from '../contract/errors.js';
import { bodyTooLarge, maxBodyBytes } from '../contract/shared-errors.js';
import { breakOff } from '../http/answer.js';
import type { ApiRequest, ApiResponse } from '../http/header.js';
import { encodeGrpcMessagePlainly, rpcProtocolOf } from './protocol-error.js';
import { refusedByConnect } from './refused-by-connect.js';
import { maxTimeoutMs } from './request-checks.js';

/** Flags and length before a message in gRPC and in Connect's streams: not part of the body that the limit is about. */
const envelopeBytes = 5;

/** Whether a call got as far as our own code: Connect has read its message, or gives it as a stream. */
const isReadKey = createContextKey(false, { description: 'the request was read' });

const noteRead: Interceptor = (next) => (request) => {
  request.contextValues.set(isReadKey, true);
  return next(request);
};

/** Bytes that are no UTF-8 are refused; by default they would be replaced, and what is signed is not what was sent. */
const jsonOptions: Partial<JsonReadOptions> & { textDecoder: object } = { textDecoder: new TextDecoder('utf-8', { fatal: true }) };

const nothing = new Uint8Array(0);

/** What the responses of both HTTP versions have, and their types do not say together. */
interface HeadWriter {
  writeHead(status: number, headers: Readonly<Record<string, string>>): unknown;
}

/** What the adapter is made from. */
export interface RpcAdapterOptions {
  /** Registers the implementations. */
  readonly services: (router: ConnectRouter) => void;
  /** Outermost first. */
  readonly interceptors: readonly Interceptor[];
  /** Aborts when the service begins to stop: streams end by it. */
  readonly shutdownSignal: AbortSignal;
  readonly log: Log;
}

/** Connect's handlers behind Node's requests. */
export interface RpcAdapter {
  /** By path: `/relayer.v1.TransactionService/SendTransaction`. */
  readonly handlers: ReadonlyMap<string, UniversalHandler>;
  /** Reads the body, calls the method, writes the answer. `fail` is called where no answer could begin; nothing is thrown. */
  serve(
    handler: UniversalHandler,
    request: ApiRequest,
    response: ApiResponse,
    values: ContextValues,
    fail: (error: DomainError) => void,
  ): void;
}

/**
 * Makes the adapter. It stands in for connect-node's own, which builds a URL from the caller's Host outside any promise (`Host: 1.2.3.4.5`
 * ends the process), prints to the console, and destroys the connection of a caller whose body is too large instead of telling it.
 */
export function createRpcAdapter({ services, interceptors, shutdownSignal, log }: RpcAdapterOptions): RpcAdapter {
  // Every open stream listens to it; Node warns of more than ten.
  setMaxListeners(0, shutdownSignal);
  const router = createConnectRouter({
    interceptors: [noteRead, ...interceptors],
    acceptCompression: [limited(compressionGzip), limited(compressionBrotli)],
    jsonOptions,
    readMaxBytes: maxBodyBytes,
    maxTimeoutMs,
  });
  services(router);

  /**
   * Of a stream: aborted when the caller leaves or the service begins to stop. Unary calls run to their end, and are not tied to the shutdown
   * at all: a listener for each of them on one signal that lives as long as the process makes garbage that only full collections find.
   */
  function untilStop(caller: AbortSignal, response: ApiResponse): AbortSignal {
    const ended = new AbortController();
    const onCallerLeft = () => ended.abort(caller.reason);
    const onStop = () => ended.abort(shutdownSignal.reason);
    caller.addEventListener('abort', onCallerLeft);
    shutdownSignal.addEventListener('abort', onStop);
    response.once('close', () => shutdownSignal.removeEventListener('abort', onStop));
    if (shutdownSignal.aborted) onStop();
    return ended.signal;
  }

  function serve(
    handler: UniversalHandler,
    request: ApiRequest,
    response: ApiResponse,
    values: ContextValues,
    fail: (error: DomainError) => void,
  ): void {
    const protocol = rpcProtocolOf(request.headers['content-type']);
    const caller = new AbortController();
    response.once('close', () => {
      if (!response.writableEnded) caller.abort(callerLeft());
    });
    const isUnary = handler.method.methodKind === 'unary';
    handler({
      httpVersion: request.httpVersion,
      method: request.method ?? '',
      url: `http://relayer${request.url ?? ''}`,
      header: headersOf(request),
      body:
        handler.method.methodKind === 'unary' || handler.method.methodKind === 'server_streaming' ? limitedBody(request) : bodyOf(request),
      signal: isUnary ? caller.signal : untilStop(caller.signal, response),
      contextValues: values,
    })
      // Never awaited by anyone: over HTTP/1 it does not settle after a success.
      .then((answer) => (values.get(isReadKey) ? answer : refusedByConnect(answer, protocol)))
      .then((answer) =>
        answer instanceof DomainError
          ? fail(answer)
          : isUnary
            ? writeUnaryAnswer(answer, response, caller.signal)
            : universalResponseToNodeResponse(withPlainMessage(untilCallerLeft(answer)), response),
      )
      .catch((error: unknown) => {
        if (caller.signal.aborted) return;
        log.error({ method: handler.requestPath, err: error }, 'an RPC answer could not be written');
        if (response.headersSent) breakOff(response);
        else fail(new DomainError('internal', 'INTERNAL', 'Internal Server Error'));
      });
  }

  return { handlers: new Map(router.handlers.map((handler) => [handler.requestPath, handler])), serve };
}

/**
 * Writes the answer of a call with one response message. It is read to its end first, so that head, body and trailers leave together;
 * connect-node's own way writes and waits for each part. Writes nothing where the caller has left by then.
 */
async function writeUnaryAnswer(answer: UniversalServerResponse, response: ApiResponse, caller: AbortSignal): Promise<void> {
  const body = answer.body === undefined ? nothing : await wholeOf(answer.body);
  if (caller.aborted) return;
  const { header } = answer;
  (response as HeadWriter).writeHead(answer.status, Object.fromEntries(header instanceof Headers ? header : new Headers(header)));
  // gRPC's status, known only now.
  if (answer.trailer !== undefined) response.addTrailers(Object.fromEntries(encodeGrpcMessagePlainly(answer.trailer)));
  response.end(body);
}

/** Nearly always one chunk. */
async function wholeOf(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  const [only = nothing] = all;
  return all.length > 1 ? Buffer.concat(all) : only;
}

/** The status message is known, and encoded, only when the body has ended. */
function withPlainMessage(answer: UniversalServerResponse): UniversalServerResponse {
  const { body, trailer } = answer;
  if (body === undefined || trailer === undefined) return answer;
  async function* bodyAndMessage(chunks: AsyncIterable<Uint8Array>, trailers: Headers): AsyncGenerator<Uint8Array> {
    yield* chunks;
    encodeGrpcMessagePlainly(trailers);
  }
  return { ...answer, body: bodyAndMessage(body, trailer) };
}

/** What fails in writing an answer tells its source that the caller left, which is no failure of a call. */
function untilCallerLeft(answer: UniversalServerResponse): UniversalServerResponse {
  if (answer.body === undefined) return answer;
  const chunks = answer.body[Symbol.asyncIterator]();
  const gone = async () => (await chunks.throw?.(callerLeft())) ?? { done: true as const, value: undefined };
  const end = async () => (await chunks.return?.()) ?? { done: true as const, value: undefined };
  return { ...answer, body: { [Symbol.asyncIterator]: () => ({ next: () => chunks.next(), throw: gone, return: end }) } };
}

function callerLeft(cause?: unknown): ConnectError {
  return new ConnectError('the caller left', Code.Canceled, undefined, undefined, cause);
}

/** The headers as sent; repeated ones are joined, so that two content types are none that is supported. */
function headersOf(request: ApiRequest): Headers {
  const headers = new Headers();
  const raw = request.rawHeaders;
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index] ?? '';
    if (!name.startsWith(':')) headers.append(name, raw[index + 1] ?? '');
  }
  return headers;
}

/** Whoever stops reading early keeps the connection, so that the answer still gets out. */
async function* bodyOf(request: ApiRequest): AsyncGenerator<Uint8Array> {
  try {
    yield* request.iterator({ destroyOnReturn: false });
  } catch (error) {
    throw callerLeft(error);
  }
}

/** Of calls with one message: one message's worth of bytes, whatever length was announced. */
async function* limitedBody(request: ApiRequest): AsyncGenerator<Uint8Array> {
  const isEnveloped = rpcProtocolOf(request.headers['content-type']) !== 'connect';
  const limit = isEnveloped ? maxBodyBytes + envelopeBytes : maxBodyBytes;
  let received = 0;
  for await (const chunk of bodyOf(request)) {
    // Connect would refuse by the announced length too, but without a reason.
    if (isEnveloped && received === 0 && announcedLengthOf(chunk) > maxBodyBytes) throw connectErrorFromDomainError(bodyTooLarge());
    received += chunk.byteLength;
    if (received > limit) throw connectErrorFromDomainError(bodyTooLarge());
    yield chunk;
  }
}

/** The length of the message that begins here: behind a byte of flags, big-endian. 0 where the chunk ends before it. */
function announcedLengthOf(chunk: Uint8Array): number {
  return chunk.byteLength < envelopeBytes ? 0 : new DataView(chunk.buffer, chunk.byteOffset).getUint32(1);
}

/** Says why a compressed message was refused that is over the limit once it is not. */
function limited(compression: Compression): Compression {
  return {
    ...compression,
    decompress: (bytes, readMaxBytes) =>
      compression.decompress(bytes, readMaxBytes).catch((error: unknown) => {
        throw error instanceof ConnectError && error.code === Code.ResourceExhausted ? connectErrorFromDomainError(bodyTooLarge()) : error;
      }),
  };
}
