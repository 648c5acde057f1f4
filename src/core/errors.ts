/**
 * The one error that the domain throws for a failure that the caller should know about.
 *
 * Adapters translate their libraries' errors into it; the API turns its kind into a status and a fixed text.
 * Any other error is a fault of the service: the caller sees `internal`, and only the log has the cause.
 */

/** The kind of a failure. Each kind has one HTTP status, one RPC code and one fixed text (`api/contract/error-table.ts`). */
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

/** The machine-readable reasons: the names of `relayer.v1.ErrorReason` without their prefix. A test keeps the two equal. */
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

/** One of `errorReasons`. */
export type ErrorReason = (typeof errorReasons)[number];

/** An invalid field of the request. `field` is its REST path (`value`, `operations[0].amount`). */
export interface FieldProblem {
  readonly field: string;
  readonly description: string;
}

/** Optional parts of a `DomainError`. */
export interface DomainErrorOptions {
  /** Replaces the kind's fixed text (`Notification not found`). */
  readonly fixedText?: string;
  /** The invalid fields, for `BadRequest` details. */
  readonly fields?: readonly FieldProblem[];
  /** For the log only. */
  readonly cause?: unknown;
}

/** An expected failure. Its `message` is the sentence that the caller reads. */
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

/** The 400 for one field. `description` continues a sentence that begins with the field's name: `must be ...`. */
export function invalidField(field: string, description: string): DomainError {
  return invalidFields([{ field, description }]);
}

/** Problems that the sentence names. */
const namedProblems = 3;

/** Problems that the error carries: over gRPC they travel in trailers, which clients limit to a few kilobytes. */
const carriedProblems = 20;

/** A 400 about several fields. */
export function invalidFields(fields: readonly FieldProblem[]): DomainError {
  const named = fields.slice(0, namedProblems).map(({ field, description }) => `${field} ${description}`);
  const more = fields.length > namedProblems ? `; and ${fields.length - namedProblems} more` : '';
  return new DomainError('invalid', 'FIELD_INVALID', named.join('; ') + more, { fields: fields.slice(0, carriedProblems) });
}

/** Throws `FIELD_INVALID` with the problems, if there are any. */
export function throwProblems(fields: readonly FieldProblem[]): void {
  if (fields.length > 0) throw invalidFields(fields);
}

/** A warning about the request, for `metadata.logs`. */
export interface Warning {
  readonly level: 'log' | 'info' | 'error' | 'warn' | 'debug' | 'result';
  readonly message: string;
}
