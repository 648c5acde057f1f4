import { Code } from '@connectrpc/connect';
import type { ErrorKind } from '../../core/errors/errors.js';

/** How one kind of error is answered. */
export interface ErrorRow {
  readonly httpStatus: number;
  readonly code: Code;
  /** The fixed text for programs: REST's `message`, RPC's `ErrorInfo.metadata.message`. */
  readonly text: string;
}

/** The statuses, codes and fixed texts of the contract, by kind of error. */
export const errorTable: Readonly<Record<ErrorKind, ErrorRow>> = {
  invalid: { httpStatus: 400, code: Code.InvalidArgument, text: 'Bad Request' },
  precondition: { httpStatus: 400, code: Code.FailedPrecondition, text: 'Bad Request' },
  unauthenticated: { httpStatus: 401, code: Code.Unauthenticated, text: 'Unauthorized' },
  forbidden: { httpStatus: 403, code: Code.PermissionDenied, text: 'Forbidden' },
  inactive: { httpStatus: 403, code: Code.FailedPrecondition, text: 'Forbidden' },
  not_found: { httpStatus: 404, code: Code.NotFound, text: 'Not found' },
  path_not_found: { httpStatus: 404, code: Code.Unimplemented, text: 'Not found' },
  method_not_allowed: { httpStatus: 405, code: Code.Unknown, text: 'Method Not Allowed' },
  already_exists: { httpStatus: 409, code: Code.AlreadyExists, text: 'Conflict' },
  aborted: { httpStatus: 409, code: Code.Aborted, text: 'Conflict' },
  stale: { httpStatus: 412, code: Code.Aborted, text: 'Precondition Failed' },
  too_large: { httpStatus: 413, code: Code.ResourceExhausted, text: 'Payload Too Large' },
  unsupported_media_type: { httpStatus: 415, code: Code.Unknown, text: 'Unsupported Media Type' },
  http_version_not_supported: { httpStatus: 505, code: Code.Unimplemented, text: 'HTTP Version Not Supported' },
  // The caller's fault, although the specification of gRPC prescribes the code INTERNAL.
  protocol_violation: { httpStatus: 400, code: Code.Internal, text: 'Bad Request' },
  unprocessable: { httpStatus: 422, code: Code.FailedPrecondition, text: 'Unprocessable Content' },
  rate_limited: { httpStatus: 429, code: Code.ResourceExhausted, text: 'Too Many Requests' },
  internal: { httpStatus: 500, code: Code.Internal, text: 'Internal Server Error' },
  unimplemented: { httpStatus: 501, code: Code.Unimplemented, text: 'Not Implemented' },
  // A code that no client repeats by itself: the plugin may have done its work.
  bad_gateway: { httpStatus: 502, code: Code.Internal, text: 'Bad Gateway' },
  unavailable: { httpStatus: 503, code: Code.Unavailable, text: 'Service Unavailable' },
  deadline_exceeded: { httpStatus: 504, code: Code.DeadlineExceeded, text: 'Gateway Timeout' },
};
