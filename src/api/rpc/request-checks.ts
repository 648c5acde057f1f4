import type { UniversalHandler } from '@connectrpc/connect/protocol';
import { parseTimeout as parseConnectTimeout } from '@connectrpc/connect/protocol-connect';
import { parseTimeout as parseGrpcTimeout } from '@connectrpc/connect/protocol-grpc';
import { DomainError, invalidField } from '../../core/errors.js';
import { type ApiRequest, headerValuesOf } from '../http/header.js';
import { rpcProtocolOf } from './protocol-error.js';

/** The longest deadline that a caller may set: a day, well within what a timer can hold. */
export const maxTimeoutMs = 86_400_000;

/** Throws `unsupported_media_type` if no protocol of the method has the content type. A Connect GET has none. */
export function checkContentType(handler: UniversalHandler, request: ApiRequest): void {
  if (request.method === 'GET' || handler.supportedContentType(request.headers['content-type'] ?? '')) return;
  throw new DomainError('unsupported_media_type', 'CONTENT_TYPE_UNSUPPORTED', 'the content type must be that of gRPC, gRPC-Web or Connect');
}

/**
 * Throws `invalid` FIELD_INVALID, naming the header, if the deadline of an RPC is malformed or too far away. Connect would refuse it too, but
 * without a reason, and only after it has set a timer by it that expires at once.
 */
export function checkDeadline(request: ApiRequest): void {
  const isGrpc = rpcProtocolOf(request.headers['content-type']).startsWith('grpc');
  const name = isGrpc ? 'grpc-timeout' : 'connect-timeout-ms';
  const values = headerValuesOf(request, name);
  if (values.length === 0) return;
  const { error } = (isGrpc ? parseGrpcTimeout : parseConnectTimeout)(values.join(), maxTimeoutMs);
  if (error !== undefined) throw invalidField(name, `must be a timeout of at most ${maxTimeoutMs} ms, in the format of its protocol`);
}
