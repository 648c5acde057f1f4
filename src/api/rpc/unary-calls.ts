import type { DescMessage, DescMethodUnary, Message } from '@bufbuild/protobuf';
import { Code, ConnectError, type Interceptor } from '@connectrpc/connect';
import {
  type Compression,
  createMethodSerializationLookup,
  encodeEnvelope,
  type MethodSerializationLookup,
} from '@connectrpc/connect/protocol';
import { codeToHttpStatus, contentTypeUnaryJson, contentTypeUnaryProto, errorToJsonBytes } from '@connectrpc/connect/protocol-connect';
import { contentTypeJson, contentTypeProto, setTrailerStatus } from '@connectrpc/connect/protocol-grpc';
import { compressionGzip } from '@connectrpc/connect-node';
import { hasTooManyValues } from '../../codec/value-limit.js';
import { callKey, callOf } from '../contract/call.js';
import { bodyTooLarge, tooManyValues } from '../contract/shared-errors.js';
import { type AnswerWriter, isGone } from '../http/answer.js';
import { headerValuesOf } from '../http/header.js';
import { readBytes } from '../http/read-bytes.js';
import { composeDispatch, type Dispatch, type UnaryContext } from '../unary/dispatch.js';
import { completedTrailers, writeTrailersOnly } from './answers.js';
import type { RpcExchange } from './exchange.js';
import { refusalOf } from './refused-by-connect.js';
import { checkedLength, envelopeBytes } from './request-body.js';
import type { StrictJson } from './strict-json.js';

/*
 * Unary calls of gRPC and of Connect by POST whose message is plain, which nearly all are, are served here: the body read by events,
 * decoded, passed to the method that REST calls too, and answered with one write. Connect's universal handler does the same with several
 * abort controllers, generators and copies of the headers per call, at two to three times the cost. Everything else goes to Connect.
 */

/** A smaller answer is not compressed. Connect's default. */
const minCompressedBytes = 1_024;
const compressedFlag = 1;

/** The compiled parts of a method. */
export interface UnaryEndpoint {
  readonly method: DescMethodUnary;
  readonly dispatch: Dispatch;
  readonly json: StrictJson;
  readonly serialization: MethodSerializationLookup<DescMessage, DescMessage>;
}

/** Compiles a method. `readMaxBytes` is the limit of a message. */
export function compileUnaryEndpoint(
  method: DescMethodUnary,
  implementation: object,
  options: { readonly interceptors: readonly Interceptor[]; readonly json: StrictJson; readonly readMaxBytes: number },
): UnaryEndpoint {
  const { interceptors, json, readMaxBytes } = options;
  const limits = { readMaxBytes, writeMaxBytes: 0xff_ff_ff_ff };
  return {
    method,
    dispatch: composeDispatch(method, implementation, interceptors),
    json,
    serialization: createMethodSerializationLookup(method, undefined, json.options, limits),
  };
}

/** True if a call of an endpoint is served here, unless its body turns out to be odd. */
export function isPlainUnary({ request, head }: RpcExchange): boolean {
  return (
    request.method === 'POST' &&
    (head.protocol === 'connect' || head.protocol === 'grpc') &&
    !head.isCompressible &&
    // Connect refuses two content types together.
    headerValuesOf(request, 'content-type').length === 1
  );
}

/**
 * Serves the call. Resolves to null when it is answered or its caller has left, or to the body if that is not one plain message: Connect
 * then answers as the protocol's specification demands. Rejects with a DomainError if the body is refused.
 */
export async function serveUnary(endpoint: UnaryEndpoint, exchange: RpcExchange, context: UnaryContext): Promise<Uint8Array | null> {
  const { response, head } = exchange;
  const { message, odd } = await readCall(endpoint, exchange);
  // A body that ends after the deadline was answered must have no effect.
  if (message === null || isGone(response) || response.headersSent) return odd;
  const answer = await endpoint.dispatch(message, context).then(
    (output) => endpoint.serialization.getO(!head.isJson).serialize(output),
    (error: unknown) => asConnectError(error),
  );
  if (isGone(response) || response.headersSent) return null;
  await (head.protocol === 'grpc' ? writeGrpcAnswer(answer, exchange, context) : writeConnectAnswer(answer, exchange, context));
  return null;
}

/** Apart from the call, which may wait for minutes, and would hold the body. `odd` is a body that is not one plain message. */
async function readCall(endpoint: UnaryEndpoint, exchange: RpcExchange): Promise<{ message: Message | null; odd: Uint8Array | null }> {
  const { response, head } = exchange;
  const isGrpc = head.protocol === 'grpc';
  const body = await (isGrpc ? readEnvelope(exchange) : readMessage(exchange));
  if (body === null || isGone(response) || response.headersSent) return { message: null, odd: null };
  const bytes = isGrpc ? onlyMessageIn(body) : body;
  if (bytes === null) return { message: null, odd: body };
  return { message: head.isJson ? endpoint.json.read(bytes, callOf(exchange)) : binaryMessageOf(endpoint, bytes), odd: null };
}

function readMessage({ request, maxBytes }: RpcExchange): Promise<Buffer | null> {
  return readBytes(request, { limit: maxBytes, tooLarge: () => bodyTooLarge(maxBytes) });
}

function readEnvelope({ request, head: { isCompressible }, maxBytes }: RpcExchange): Promise<Buffer | null> {
  return readBytes(request, {
    limit: maxBytes + envelopeBytes,
    tooLarge: () => bodyTooLarge(maxBytes),
    start: { bytes: envelopeBytes, check: (start) => void checkedLength(start, { maxBytes, isCompressible }) },
  });
}

/** Returns the message of a body with one plain envelope; null if the body is anything else. */
function onlyMessageIn(body: Buffer): Uint8Array | null {
  if (body.byteLength < envelopeBytes || body.readUInt8() !== 0) return null;
  return body.readUInt32BE(1) === body.byteLength - envelopeBytes ? body.subarray(envelopeBytes) : null;
}

/** Throws a DomainError if the bytes are not a message of the method. */
function binaryMessageOf({ method, serialization }: UnaryEndpoint, bytes: Uint8Array): Message {
  if (hasTooManyValues(method.input, bytes)) throw tooManyValues();
  try {
    return serialization.getI(true).parse(bytes);
  } catch (error) {
    throw error instanceof ConnectError ? (refusalOf(error) ?? error) : error;
  }
}

/** The outermost interceptor rejects with nothing else. */
function asConnectError(error: unknown): ConnectError {
  return error instanceof ConnectError ? error : new ConnectError('internal error', Code.Internal, undefined, undefined, error);
}

async function writeGrpcAnswer(answer: Uint8Array | ConnectError, { request, response, head, values }: RpcExchange, context: UnaryContext) {
  const compression = acceptedBy(request.headers['grpc-accept-encoding']);
  const headers: Record<string, string> = { 'content-type': head.isJson ? contentTypeJson : contentTypeProto };
  for (const [name, value] of context.answerHeaders) headers[name] = value;
  if (compression !== null) headers['grpc-encoding'] = compression.name;
  if (answer instanceof ConnectError) {
    const trailers = completedTrailers(
      setTrailerStatus(new Headers([...context.answerTrailers] as [string, string][]), answer),
      values.get(callKey)?.requestId ?? null,
    );
    writeTrailersOnly(response, { status: 200, headers: [...Object.entries(headers), ...trailers] });
    return;
  }
  const isCompressed = compression !== null && answer.byteLength >= minCompressedBytes;
  const message = isCompressed ? await compression.compress(answer) : answer;
  if (isGone(response) || response.headersSent) return;
  (response as AnswerWriter).writeHead(200, headers);
  response.addTrailers({ ...Object.fromEntries(context.answerTrailers), 'grpc-status': '0' });
  response.end(encodeEnvelope(isCompressed ? compressedFlag : 0, message));
}

async function writeConnectAnswer(answer: Uint8Array | ConnectError, { request, response, head }: RpcExchange, context: UnaryContext) {
  const failure = answer instanceof ConnectError ? answer : null;
  const headers: Record<string, string> = {
    'content-type': failure !== null || head.isJson ? contentTypeUnaryJson : contentTypeUnaryProto,
  };
  for (const [name, value] of context.answerHeaders) headers[name] = value;
  for (const [name, value] of failure?.metadata ?? []) headers[name] = value;
  for (const [name, value] of context.answerTrailers) headers[`trailer-${name}`] = value;
  const plain = answer instanceof ConnectError ? errorToJsonBytes(answer, undefined) : answer;
  const compression = plain.byteLength < minCompressedBytes ? null : acceptedBy(request.headers['accept-encoding']);
  if (compression !== null) headers['content-encoding'] = compression.name;
  const body = compression === null ? plain : await compression.compress(plain);
  if (isGone(response) || response.headersSent) return;
  headers['content-length'] = String(body.byteLength);
  (response as AnswerWriter).writeHead(failure === null ? 200 : codeToHttpStatus(failure.code), headers);
  response.end(body);
}

/** Returns the compression for an answer; null if the caller does not name it. */
function acceptedBy(accepted: string | readonly string[] | undefined): Compression | null {
  const names = typeof accepted === 'string' ? accepted.split(',') : (accepted ?? []);
  return names.some((name) => name.trim() === compressionGzip.name) ? compressionGzip : null;
}
