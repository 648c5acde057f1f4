import type { ConnectError } from '@connectrpc/connect';
import { encodeEnvelope } from '@connectrpc/connect/protocol';
import {
  codeToHttpStatus,
  contentTypeUnaryJson,
  createEndStreamSerialization,
  endStreamFlag,
  errorToJsonBytes,
} from '@connectrpc/connect/protocol-connect';
import { setTrailerStatus } from '@connectrpc/connect/protocol-grpc';
import { trailerFlag, trailerSerialize } from '@connectrpc/connect/protocol-grpc-web';
import type { DomainError, ErrorKind } from '../../core/errors/errors.js';
import { errorTable } from '../contract/error-table.js';
import { connectErrorFromDomainError } from '../contract/errors.js';
import { writeAnswer } from '../http/answer.js';
import type { ApiRequest, ApiResponse, Header } from '../http/header.js';

/** The protocol of an RPC caller. `connect` is Connect's unary form, and the default. */
export type RpcProtocol = 'grpc' | 'grpc-web' | 'connect-stream' | 'connect';

/** Returns the protocol of a content type. Only the family matters: an unknown gRPC codec is still answered in gRPC. */
export function rpcProtocolOf(contentType: string | undefined): RpcProtocol {
  const type = (contentType ?? '').toLowerCase();
  if (type.startsWith('application/grpc-web')) return 'grpc-web';
  if (type.startsWith('application/grpc')) return 'grpc';
  if (type.startsWith('application/connect+')) return 'connect-stream';
  return 'connect';
}

/** gRPC-Web's content type in its binary form, and in base64, which browsers can read while it arrives. */
export const binaryWebType = 'application/grpc-web';
export const textWebType = 'application/grpc-web-text';

/** True for gRPC-Web in base64, with any codec. */
export function isTextType(contentType: string | undefined): boolean {
  return contentType?.toLowerCase().startsWith(textWebType) === true;
}

/** Returns base64 of these bytes, as bytes. */
export function base64Bytes(bytes: Uint8Array): Uint8Array {
  return Buffer.from(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64'));
}

/** Errors of HTTP itself: Connect's specification gives them statuses of their own, which its clients read before any body. */
const httpFaults: ReadonlySet<ErrorKind> = new Set<ErrorKind>([
  'path_not_found',
  'method_not_allowed',
  'unsupported_media_type',
  'http_version_not_supported',
]);

/** Everything but printable ASCII, and the percent sign. */
const mustBeEncoded = /[^\x20-\x24\x26-\x7e]+/g;

const endStream = createEndStreamSerialization(undefined);

/**
 * Answers an RPC with an error in the caller's own protocol, without reading its body. A plain HTTP status would reach gRPC callers as
 * UNAVAILABLE or UNKNOWN.
 */
export function writeProtocolError(
  request: ApiRequest,
  response: ApiResponse,
  error: DomainError,
  { requestId, headers }: { readonly requestId: string; readonly headers: readonly Header[] },
): void {
  const failure = connectErrorFromDomainError(error, requestId);
  // As headers only: clients of gRPC-Web join headers and trailers, and would read every value twice.
  const advice = [...failure.metadata];
  for (const [name] of advice) failure.metadata.delete(name);
  const contentType = request.headers['content-type'];
  const codec = contentType?.toLowerCase().includes('json') ? 'json' : 'proto';
  const protocol = rpcProtocolOf(contentType);
  const answer = isForHttp(error, protocol) ? httpAnswerOf(request, error, failure) : answers[protocol](failure, codec, error.kind);
  const { status, type, headers: more, body } = answer;
  const isText = isTextType(contentType) && type.startsWith(binaryWebType);
  writeAnswer(request, response, {
    status,
    headers: [...headers, ...advice, ['content-type', isText ? type.replace(binaryWebType, textWebType) : type], ...more],
    body: isText && body !== null ? base64Bytes(body) : body,
  });
}

/**
 * True if the caller may speak no RPC protocol at all, or not on this version of HTTP. gRPC's status is among the headers, which all can
 * read.
 */
function isForHttp({ kind }: DomainError, protocol: RpcProtocol): boolean {
  return (kind === 'unsupported_media_type' && protocol === 'connect') || (kind === 'http_version_not_supported' && protocol !== 'grpc');
}

/**
 * Connect's error; as plain text for a caller that does not say that it speaks Connect, since other clients take JSON for a broken answer.
 */
function httpAnswerOf(request: ApiRequest, error: DomainError, failure: ConnectError): ProtocolAnswer {
  const answer = answers.connect(failure, 'json', error.kind);
  const type = request.headers['connect-protocol-version'] === undefined ? 'text/plain; charset=utf-8' : answer.type;
  return { ...answer, type, headers: [['x-error-reason', error.reason]] };
}

interface ProtocolAnswer {
  readonly status: number;
  readonly type: string;
  readonly headers: readonly Header[];
  readonly body: Uint8Array | null;
}

const answers: Readonly<Record<RpcProtocol, (failure: ConnectError, codec: 'json' | 'proto', kind: ErrorKind) => ProtocolAnswer>> = {
  // Trailers-only: the status is among the headers, and there is no body.
  grpc: (failure, codec, kind) => ({
    status: kind === 'http_version_not_supported' ? 505 : 200,
    type: `application/grpc+${codec}`,
    headers: [...statusTrailersOf(failure)],
    body: null,
  }),
  'grpc-web': (failure, codec) => ({
    status: 200,
    type: `application/grpc-web+${codec}`,
    headers: [],
    body: encodeEnvelope(trailerFlag, trailerSerialize(statusTrailersOf(failure))),
  }),
  'connect-stream': (failure, codec) => ({
    status: 200,
    type: `application/connect+${codec}`,
    headers: [],
    body: encodeEnvelope(endStreamFlag, endStream.serialize({ metadata: new Headers(), error: failure })),
  }),
  connect(failure, _codec, kind) {
    const status = httpFaults.has(kind) ? errorTable[kind].httpStatus : codeToHttpStatus(failure.code);
    return { status, type: contentTypeUnaryJson, headers: [], body: errorToJsonBytes(failure, undefined) };
  },
};

function statusTrailersOf(failure: ConnectError): Headers {
  return encodeGrpcMessagePlainly(setTrailerStatus(new Headers(), failure));
}

/**
 * Rewrites `grpc-message` with only the percent-encoding that the protocol requires. Connect encodes every reserved character, and grpc-js
 * decodes with `decodeURI`, so its users would see `%3A` and `%2C` inside our sentences.
 */
export function encodeGrpcMessagePlainly(trailers: Headers): Headers {
  const message = trailers.get('grpc-message');
  if (message !== null) trailers.set('grpc-message', decodeURIComponent(message).replace(mustBeEncoded, encodeURIComponent));
  return trailers;
}
