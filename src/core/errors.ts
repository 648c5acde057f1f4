/**
 * The one error that the domain throws for something its caller should know.
 *
 * Adapters translate the errors of their libraries into it, the API turns its kind into a status and a fixed text.
 * Anything else that is thrown is our fault: `internal`, and only the log learns the cause.
 */

/** What went wrong, closed. Each kind has one HTTP status, one RPC code and one fixed text (`api/error-table.ts`). */
export type ErrorKind =
  | 'invalid'
  | 'precondition'
  | 'unauthenticated'
  | 'forbidden'
  | 'inactive'
  | 'not_found'
  | 'path_not_found'
  | 'method_not_allowed'
  | 'already_exists'
  | 'aborted'
  | 'too_large'
  | 'unsupported_media_type'
  | 'unprocessable'
  | 'rate_limited'
  | 'internal'
  | 'unimplemented'
  | 'unavailable';

/** Why, for a program: the names of `relayer.v1.ErrorReason` without their prefix. A test keeps the two the same. */
export const errorReasons = [
  'HOST_INVALID',
  'PATH_NOT_FOUND',
  'METHOD_NOT_ALLOWED',
  'CREDENTIALS_INVALID',
  'SCOPE_MISSING',
  'RELAYER_NOT_ALLOWED',
  'RATE_LIMITED',
  'BODY_TOO_LARGE',
  'CONTENT_TYPE_UNSUPPORTED',
  'BODY_MALFORMED',
  'FIELD_UNKNOWN',
  'FIELD_INVALID',
  'WRONG_NETWORK_SHAPE',
  'NOT_SUPPORTED_ON_NETWORK',
  'NOT_IMPLEMENTED',
  'RELAYER_NOT_FOUND',
  'RELAYER_PAUSED',
  'RELAYER_DISABLED',
  'RELAYER_IN_USE',
  'TRANSACTION_NOT_FOUND',
  'TRANSACTION_MINED',
  'TRANSACTION_CONFIRMED',
  'TRANSACTION_FAILED',
  'TRANSACTION_EXPIRED',
  'TRANSACTION_CANCELED',
  'REPLACEMENT_UNDERPRICED',
  'GAS_PRICE_CAP_EXCEEDED',
  'RECEIVER_NOT_ALLOWED',
  'INSUFFICIENT_FUNDS',
  'CANCEL_NOT_POSSIBLE',
  'EXECUTION_REVERTED',
  'READER_TOO_SLOW',
  'NOTIFICATION_NOT_FOUND',
  'NOTIFICATION_EXISTS',
  'NOTIFICATION_IN_USE',
  'WEBHOOK_TARGET_REFUSED',
  'DELIVERY_NOT_FOUND',
  'SIGNER_NOT_FOUND',
  'NETWORK_NOT_FOUND',
  'API_KEY_NOT_FOUND',
  'ID_EXISTS',
  'IN_USE',
  'IDEMPOTENCY_KEY_INVALID',
  'IDEMPOTENCY_KEY_RUNNING',
  'IDEMPOTENCY_KEY_REUSED',
  'NODE_UNAVAILABLE',
  'SERVICE_UNAVAILABLE',
  'INTERNAL',
] as const;

/** See `errorReasons`. */
export type ErrorReason = (typeof errorReasons)[number];

/** One field of the request that is wrong. `field` is its REST path (`value`, `operations[0].amount`). */
export interface FieldProblem {
  readonly field: string;
  readonly description: string;
}

/** What a `DomainError` may carry beside kind, reason and sentence. */
export interface DomainErrorOptions {
  /** Replaces the kind's fixed text (`Notification not found`). */
  readonly fixedText?: string;
  /** The wrong fields, for `BadRequest` details. */
  readonly fields?: readonly FieldProblem[];
  /** Private: for the log only. */
  readonly cause?: unknown;
}

/** An expected failure: `message` is the sentence that the caller reads. */
export class DomainError extends Error {
  override readonly name = 'DomainError';
  readonly kind: ErrorKind;
  readonly reason: ErrorReason;
  readonly fixedText: string | undefined;
  readonly fields: readonly FieldProblem[];

  constructor(kind: ErrorKind, reason: ErrorReason, publicMessage: string, options: DomainErrorOptions = {}) {
    super(publicMessage, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.reason = reason;
    this.fixedText = options.fixedText;
    this.fields = options.fields ?? [];
  }
}

/** A 400 about one field. `description` completes a sentence that begins with the field's name: `must be ...`. */
export function invalidField(field: string, description: string): DomainError {
  return new DomainError('invalid', 'FIELD_INVALID', `${field} ${description}`, { fields: [{ field, description }] });
}

/** A warning about the request, for `metadata.logs`. */
export interface Warning {
  readonly level: 'log' | 'info' | 'error' | 'warn' | 'debug' | 'result';
  readonly message: string;
}
