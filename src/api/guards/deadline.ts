import { parseTimeout as parseConnectTimeout } from '@connectrpc/connect/protocol-connect';
import { parseTimeout as parseGrpcTimeout } from '@connectrpc/connect/protocol-grpc';
import { invalidField } from '../../core/errors.js';
import { rpcProtocolOf } from '../contract/protocol-error.js';
import { type ApiRequest, headerValuesOf } from '../http/header.js';

/** Longest deadline that a caller may set: a day, well within what a timer can hold. */
export const maxTimeoutMs = 86_400_000;

/**
 * Throws `invalid` FIELD_INVALID, naming the header, where an RPC's deadline is malformed or too far. Connect would refuse it too, but without
 * a reason, and after it has set a timer by it that runs out at once.
 */
export function checkDeadline(request: ApiRequest): void {
  const isGrpc = rpcProtocolOf(request.headers['content-type']).startsWith('grpc');
  const name = isGrpc ? 'grpc-timeout' : 'connect-timeout-ms';
  const values = headerValuesOf(request, name);
  if (values.length === 0) return;
  const { error } = (isGrpc ? parseGrpcTimeout : parseConnectTimeout)(values.join(), maxTimeoutMs);
  if (error !== undefined) throw invalidField(name, `must be a time of at most ${maxTimeoutMs} ms, in the form of its protocol`);
}
