import type { ErrorKind } from '../../../core/errors.js';

/** When a kind of error comes, and a sentence that such an answer may have in `error`. */
interface ErrorWords {
  readonly when: string;
  readonly example: string;
}

/** What the reference says of each kind of error. */
export const errorWords: Readonly<Record<ErrorKind, ErrorWords>> = {
  invalid: { when: 'The request is not valid', example: 'value must be an integer from 0 to 2^128-1' },
  precondition: { when: 'What it asks for is not possible in this state', example: 'the transaction is confirmed' },
  unauthenticated: { when: 'The key is missing or not valid', example: 'the key is not valid' },
  forbidden: { when: 'The key lacks the scope, or is not for this relayer', example: 'the key lacks the scope transactions:write' },
  inactive: { when: 'The relayer is paused or disabled', example: 'the relayer sandbox is paused' },
  not_found: { when: 'What the path names is unknown', example: 'the transaction is unknown' },
  path_not_found: { when: 'There is nothing at this path', example: 'there is nothing at this path' },
  method_not_allowed: { when: 'The path has no such verb; `Allow` tells those it has', example: 'this path takes GET, HEAD only' },
  already_exists: { when: 'The id is taken', example: 'the id is taken' },
  aborted: {
    when: 'A call with this `Idempotency-Key` is still running: ask again',
    example: 'a call with this idempotency key is running',
  },
  too_large: { when: 'The body is over 1 MiB', example: 'the body is over 1048576 bytes' },
  unsupported_media_type: { when: 'The body is not JSON in UTF-8', example: 'the body must be application/json, in UTF-8' },
  unprocessable: {
    when: 'The `Idempotency-Key` was used with another request',
    example: 'the idempotency key was used with another request',
  },
  rate_limited: { when: 'The rate limit of the key is used up; `Retry-After` tells for how long', example: 'try again in 1 s' },
  internal: { when: 'Our fault; the log knows more, under the request id', example: 'Internal Server Error' },
  unimplemented: { when: 'It is not built', example: 'it is not implemented' },
  unavailable: { when: 'A node is down or overloaded, or the service stops', example: 'no RPC node is reachable' },
};
