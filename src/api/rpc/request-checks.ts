import type { UniversalHandler } from '@connectrpc/connect/protocol';
import { parseTimeout as parseConnectTimeout } from '@connectrpc/connect/protocol-connect';
import { parseTimeout as parseGrpcTimeout } from '@connectrpc/connect/protocol-grpc';
import { DomainError, invalidField } from '../../core/errors/errors.js';
import { shownName } from '../../core/text/safe-text.js';
import { type ApiRequest, headerValuesOf } from '../http/header.js';
import { isTextType, type RpcProtocol, rpcProtocolOf } from './protocol-error.js';
import { envelopeBytes } from './request-body.js';

/** The longest deadline that is kept: a day, well within what a timer can hold. A later one is cut to it. */
const maxTimeoutMs = 86_400_000;

/** The facts in an RPC's headers that decide how to serve it. */
export interface RpcHead {
  readonly protocol: RpcProtocol;
  /** True: base64, as in `application/grpc-web-text`. */
  readonly isText: boolean;
  /** True if messages come in envelopes; false for Connect's unary calls. */
  readonly isEnveloped: boolean;
  /** True if the call names an encoding other than identity. */
  readonly isCompressible: boolean;
  readonly isJson: boolean;
  /** Null: none. */
  readonly deadlineMs: number | null;
}

/** True if the caller sends one message and the body ends after it. */
export function hasOneRequest({ method }: UniversalHandler): boolean {
  return method.methodKind === 'unary' || method.methodKind === 'server_streaming';
}

/** Returns the maximum length of a body as announced, for messages of at most `maxBytes`. */
export function maxContentLength(handler: UniversalHandler, contentType: string | undefined, maxBytes: number): number {
  if (!hasOneRequest(handler)) return Number.POSITIVE_INFINITY;
  const bytes = rpcProtocolOf(contentType) === 'connect' ? maxBytes : maxBytes + envelopeBytes;
  // Base64 takes four bytes for three; clients may pad each of their writes.
  return isTextType(contentType) ? bytes * 2 : bytes;
}

/** The headers in which each protocol names the encoding of its messages, and the accepted encodings. */
const encodingHeaders: Readonly<Record<RpcProtocol, { readonly given: string; readonly accepted: string }>> = {
  grpc: { given: 'grpc-encoding', accepted: 'grpc-accept-encoding' },
  'grpc-web': { given: 'grpc-encoding', accepted: 'grpc-accept-encoding' },
  'connect-stream': { given: 'connect-content-encoding', accepted: 'connect-accept-encoding' },
  connect: { given: 'content-encoding', accepted: 'accept-encoding' },
};

/** The encodings of messages besides identity. Brotli's decoder takes megabytes for a message of 26 bytes. */
const encodings = 'gzip';

/** Returns the header that names the encodings which a refused caller may use. */
export function acceptedEncodings(request: ApiRequest): readonly [name: string, value: string] {
  return [encodingHeaders[rpcProtocolOf(request.headers['content-type'])].accepted, encodings];
}

/**
 * Checks the headers of an RPC, which Connect would refuse without a reason. Throws `http_version_not_supported`, `unsupported_media_type`,
 * `unimplemented` ENCODING_UNSUPPORTED, `invalid` FIELD_INVALID for a malformed deadline, or `deadline_exceeded` for one of zero.
 */
export function readRpcHead(handler: UniversalHandler, request: ApiRequest, query: string): RpcHead {
  const contentType = request.headers['content-type'];
  const protocol = rpcProtocolOf(contentType);
  checkHttpVersion(handler, request, protocol);
  const parameters = request.method === 'GET' ? new URLSearchParams(query) : null;
  if (parameters === null) checkContentType(handler, contentType ?? '');
  else checkQuery(parameters, contentType);
  const encoding = parameters?.get('compression') ?? headerValuesOf(request, encodingHeaders[protocol].given).join();
  const isCompressible = encoding !== '' && encoding !== 'identity';
  if (isCompressible && encoding !== encodings) {
    const sentence = `the encoding ${shownName(encoding)} is not supported; use ${encodings} or identity`;
    throw new DomainError('unimplemented', 'ENCODING_UNSUPPORTED', sentence);
  }
  return {
    protocol,
    isText: isTextType(contentType),
    isEnveloped: protocol !== 'connect',
    isCompressible,
    isJson: contentType?.includes('json') === true,
    deadlineMs: deadlineMsOf(request, protocol),
  };
}

/**
 * gRPC answers its status in trailers, which a caller of HTTP/1.0, often a proxy, never gets: it would take a transaction that was sent for
 * a failure, and retry it.
 */
function checkHttpVersion({ method }: UniversalHandler, request: ApiRequest, protocol: RpcProtocol): void {
  if (request.httpVersionMajor > 1) return;
  if (protocol === 'grpc') throw httpVersionNotSupported('gRPC needs HTTP/2; use gRPC-Web or Connect over HTTP/1.1');
  if (method.methodKind === 'bidi_streaming') throw httpVersionNotSupported('a call that streams in both directions needs HTTP/2');
}

function httpVersionNotSupported(sentence: string): DomainError {
  return new DomainError('http_version_not_supported', 'HTTP_VERSION_NOT_SUPPORTED', sentence);
}

function checkContentType(handler: UniversalHandler, contentType: string): void {
  if (handler.supportedContentType(contentType)) return;
  throw contentTypeUnsupported('the content type must be that of gRPC, gRPC-Web or Connect');
}

/** A Connect GET has its message in the query. */
function checkQuery(parameters: URLSearchParams, contentType: string | undefined): void {
  if (rpcProtocolOf(contentType) !== 'connect') throw contentTypeUnsupported('only Connect sends calls by GET');
  const encoding = parameters.get('encoding');
  if (encoding !== 'json' && encoding !== 'proto') throw contentTypeUnsupported('the query parameter encoding must be json or proto');
  if (parameters.get('message') === null) throw invalidField('message', 'is a required query parameter');
  if (parameters.get('base64') === '1' && !isBase64(parameters.get('message') ?? '')) throw invalidField('message', 'must be base64');
}

/** True for both alphabets, padded or not. Connect answers anything else as its own failure. */
function isBase64(text: string): boolean {
  const digits = text.replace(/={1,2}$/, '');
  return /^[\w+/-]*$/.test(digits) && digits.length % 4 !== 1;
}

function contentTypeUnsupported(sentence: string): DomainError {
  return new DomainError('unsupported_media_type', 'CONTENT_TYPE_UNSUPPORTED', sentence);
}

function deadlineMsOf(request: ApiRequest, protocol: RpcProtocol): number | null {
  const isGrpc = protocol.startsWith('grpc');
  const name = isGrpc ? 'grpc-timeout' : 'connect-timeout-ms';
  const values = headerValuesOf(request, name);
  if (values.length === 0) return null;
  const { timeoutMs } = (isGrpc ? parseGrpcTimeout : parseConnectTimeout)(values.join(), Number.MAX_SAFE_INTEGER);
  if (timeoutMs === undefined) throw invalidField(name, 'must be a timeout in the format of its protocol');
  if (timeoutMs <= 0) throw deadlineExceeded();
  return Math.min(timeoutMs, maxTimeoutMs);
}

/** The 504 for a call whose deadline passed before it was answered. */
export function deadlineExceeded(): DomainError {
  return new DomainError('deadline_exceeded', 'DEADLINE_EXCEEDED', 'the deadline passed before the call was answered');
}
