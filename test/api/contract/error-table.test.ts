import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Code } from '@connectrpc/connect';
import { errorTable } from '../../../src/api/contract/error-table.js';

it('error table: each kind has the status, the code and the text of the contract', () => {
  const rows = Object.entries(errorTable).map(([kind, { httpStatus, code, text }]) => `${kind}: ${httpStatus} ${Code[code]} ${text}`);
  assert.deepEqual(rows, [
    'invalid: 400 InvalidArgument Bad Request',
    'precondition: 400 FailedPrecondition Bad Request',
    'unauthenticated: 401 Unauthenticated Unauthorized',
    'forbidden: 403 PermissionDenied Forbidden',
    'inactive: 403 FailedPrecondition Forbidden',
    'not_found: 404 NotFound Not found',
    'path_not_found: 404 Unimplemented Not found',
    'method_not_allowed: 405 Unknown Method Not Allowed',
    'already_exists: 409 AlreadyExists Conflict',
    'aborted: 409 Aborted Conflict',
    'stale: 412 Aborted Precondition Failed',
    'too_large: 413 ResourceExhausted Payload Too Large',
    'unsupported_media_type: 415 Unknown Unsupported Media Type',
    'http_version_not_supported: 505 Unimplemented HTTP Version Not Supported',
    'protocol_violation: 400 Internal Bad Request',
    'unprocessable: 422 FailedPrecondition Unprocessable Content',
    'rate_limited: 429 ResourceExhausted Too Many Requests',
    'internal: 500 Internal Internal Server Error',
    'unimplemented: 501 Unimplemented Not Implemented',
    'bad_gateway: 502 Internal Bad Gateway',
    'unavailable: 503 Unavailable Service Unavailable',
    'deadline_exceeded: 504 DeadlineExceeded Gateway Timeout',
  ]);
});
