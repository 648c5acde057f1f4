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
  | 'stale'
  | 'too_large'
  | 'unsupported_media_type'
  | 'http_version_not_supported'
  | 'protocol_violation'
  | 'unprocessable'
  | 'rate_limited'
  | 'internal'
  | 'unimplemented'
  | 'bad_gateway'
  | 'unavailable'
  | 'deadline_exceeded';

/** Whether the same call can succeed later; see `relayer.rest.v1.Retry`. */
export type Retry = 'never' | 'after_change' | 'after_delay';

/** The rules of a reason; see `relayer.rest.v1.ReasonRules`. */
export interface ReasonRules {
  readonly retry: Retry;
  /** The metadata that each error with this reason has. */
  readonly metadata?: readonly string[];
  /** The metadata that it has if they apply. */
  readonly optional?: readonly string[];
  /** The type of the resource that is missing; its first metadata value names it. */
  readonly resource?: string;
}

/**
 * The machine-readable reasons: the names of `relayer.v1.ErrorReason` without their prefix, and their rules. A test keeps the two equal.
 */
export const reasonRules = {
  HOST_INVALID: { retry: 'never' },
  PATH_NOT_FOUND: { retry: 'never', optional: ['service'], resource: 'service' },
  METHOD_NOT_ALLOWED: { retry: 'never', metadata: ['allow'] },
  CREDENTIALS_INVALID: { retry: 'never' },
  SCOPE_MISSING: { retry: 'never', metadata: ['scope'] },
  RELAYER_NOT_ALLOWED: { retry: 'never', optional: ['relayer_id'] },
  ADDRESS_NOT_ALLOWED: { retry: 'never', metadata: ['address'] },
  RATE_LIMITED: { retry: 'after_delay', metadata: ['requests_per_second', 'burst', 'retry_after_ms'] },
  BODY_TOO_LARGE: { retry: 'never', metadata: ['limit_bytes'] },
  CONTENT_TYPE_UNSUPPORTED: { retry: 'never' },
  BODY_MALFORMED: { retry: 'never' },
  FIELD_UNKNOWN: { retry: 'never' },
  FIELD_INVALID: { retry: 'never', optional: ['transaction_id', 'actual', 'minimum', 'maximum'] },
  WRONG_NETWORK_SHAPE: { retry: 'never', metadata: ['shape', 'network_type'] },
  NOT_SUPPORTED_ON_NETWORK: { retry: 'never', metadata: ['network_type'], optional: ['relayer_id'] },
  NOT_IMPLEMENTED: { retry: 'never', optional: ['relayer_id', 'network_type'] },
  HTTP_VERSION_NOT_SUPPORTED: { retry: 'never' },
  ENCODING_UNSUPPORTED: { retry: 'never' },
  RELAYER_NOT_FOUND: { retry: 'never', metadata: ['relayer_id'], resource: 'relayer.v1.Relayer' },
  RELAYER_PAUSED: { retry: 'after_change', metadata: ['relayer_id'] },
  RELAYER_DISABLED: { retry: 'after_change', metadata: ['relayer_id', 'disabled_reason'] },
  RELAYER_IN_USE: { retry: 'after_change', metadata: ['relayer_id', 'open_transactions'] },
  TRANSACTION_NOT_FOUND: { retry: 'never', optional: ['transaction_id', 'nonce'], resource: 'relayer.v1.Transaction' },
  TRANSACTION_MINED: { retry: 'after_change', metadata: ['transaction_id'] },
  TRANSACTION_CONFIRMED: { retry: 'never', metadata: ['transaction_id'] },
  TRANSACTION_FAILED: { retry: 'never', metadata: ['transaction_id'] },
  TRANSACTION_EXPIRED: { retry: 'never', metadata: ['transaction_id'] },
  TRANSACTION_CANCELED: { retry: 'never', metadata: ['transaction_id'] },
  REPLACEMENT_UNDERPRICED: {
    retry: 'never',
    optional: ['minimum_wei', 'minimum_priority_wei', 'minimum_stroops', 'max_fee_stroops'],
  },
  GAS_PRICE_CAP_EXCEEDED: {
    retry: 'after_change',
    optional: ['cap_wei', 'actual_wei', 'minimum_wei', 'base_fee_wei', 'cap_stroops', 'minimum_stroops'],
  },
  RECEIVER_NOT_ALLOWED: { retry: 'never', optional: ['receiver'] },
  INSUFFICIENT_FUNDS: {
    retry: 'after_change',
    optional: [
      'balance_wei',
      'cost_wei',
      'must_remain_wei',
      'balance_stroops',
      'reserved_stroops',
      'cost_stroops',
      'must_remain_stroops',
      'account',
    ],
  },
  EXECUTION_REVERTED: { retry: 'after_change' },
  CANCEL_NOT_POSSIBLE: { retry: 'never', metadata: ['transaction_id'] },
  REVISION_MISMATCH: { retry: 'never', metadata: ['transaction_id', 'revision'] },
  RESUME_TOKEN_EXPIRED: { retry: 'never' },
  TOO_MANY_STREAMS: { retry: 'after_delay', metadata: ['limit'] },
  TOO_MANY_TRANSACTIONS: { retry: 'after_delay', metadata: ['relayer_id', 'limit'] },
  NOTIFICATION_NOT_FOUND: { retry: 'never', metadata: ['notification_id'], resource: 'relayer.v1.Notification' },
  EXTERNAL_ID_TAKEN: { retry: 'never', metadata: ['external_id', 'transaction_id'] },
  NOTIFICATION_EXISTS: { retry: 'never', metadata: ['notification_id'] },
  NOTIFICATION_IN_USE: { retry: 'after_change', metadata: ['relayer_ids'] },
  WEBHOOK_TARGET_REFUSED: { retry: 'never' },
  DELIVERY_NOT_FOUND: { retry: 'never', metadata: ['delivery_id'], resource: 'relayer.v1.Delivery' },
  SIGNER_NOT_FOUND: { retry: 'never', metadata: ['signer_id'], resource: 'relayer.v1.Signer' },
  NETWORK_NOT_FOUND: { retry: 'never', metadata: ['network_id'], resource: 'relayer.v1.Network' },
  API_KEY_NOT_FOUND: { retry: 'never', metadata: ['api_key_id'], resource: 'relayer.v1.ApiKey' },
  ID_EXISTS: { retry: 'never', metadata: ['id'] },
  IN_USE: { retry: 'after_change', metadata: ['relayer_ids'] },
  INSTANCE_NOT_FOUND: { retry: 'never', metadata: ['instance_id'], resource: 'relayer.v1.Instance' },
  INSTANCE_ALONE: { retry: 'never', metadata: ['instance_id'] },
  IDEMPOTENCY_KEY_INVALID: { retry: 'never' },
  IDEMPOTENCY_KEY_RUNNING: { retry: 'after_delay' },
  IDEMPOTENCY_KEY_REUSED: { retry: 'never' },
  NODE_UNAVAILABLE: { retry: 'after_delay' },
  SIGNER_UNAVAILABLE: { retry: 'after_delay', metadata: ['signer_id'] },
  SERVICE_UNAVAILABLE: { retry: 'after_delay', optional: ['limit'] },
  DEADLINE_EXCEEDED: { retry: 'after_change' },
  INTERNAL: { retry: 'after_change' },
  POLICY_DENIED: { retry: 'after_change', metadata: ['relayer_id'], optional: ['rule_id', 'asset'] },
  SPEND_LIMIT_EXCEEDED: { retry: 'after_delay', metadata: ['relayer_id', 'rule_id', 'asset', 'left'] },
  APPROVAL_NOT_NEEDED: { retry: 'never', metadata: ['transaction_id'] },
  APPROVAL_BY_SENDER: { retry: 'never', metadata: ['transaction_id'] },
  POLICIES_LOCKED: { retry: 'after_change', metadata: ['relayer_id'] },
  PLUGIN_NOT_FOUND: { retry: 'never', metadata: ['plugin_id'], resource: 'relayer.v1.Plugin' },
  PLUGIN_FAILED: { retry: 'after_change', metadata: ['plugin_id'] },
  PLUGIN_TIMED_OUT: { retry: 'after_change', metadata: ['plugin_id'] },
} as const satisfies Readonly<Record<string, ReasonRules>>;

/** One of the reasons. */
export type ErrorReason = keyof typeof reasonRules;

/** All reasons. */
export const errorReasons = Object.keys(reasonRules) as readonly ErrorReason[];

type Rules<R extends ErrorReason> = R extends ErrorReason ? (typeof reasonRules)[R] : never;
type RequiredKey<R extends ErrorReason> =
  Rules<R> extends infer T ? (T extends { metadata: readonly (infer K extends string)[] } ? K : never) : never;
type OptionalKey<R extends ErrorReason> =
  Rules<R> extends infer T ? (T extends { optional: readonly (infer K extends string)[] } ? K : never) : never;

/** The metadata of an error: the values that its sentence names. */
export type ErrorMetadata<R extends ErrorReason> = { readonly [K in RequiredKey<R>]: string } & { readonly [K in OptionalKey<R>]?: string };

/**
 * An invalid field of the request. `field` is its REST path (`value`, `operations[0].amount`); RPC callers get its proto path
 * (`evm.value`).
 */
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
  /** When the same call may succeed; replaces the default delay. */
  readonly retryAfterMs?: number;
  /** For the log only. */
  readonly cause?: unknown;
}

class Failure extends Error {
  override readonly name = 'DomainError';
  readonly kind: ErrorKind;
  readonly reason: ErrorReason;
  readonly metadata: Readonly<Record<string, string | undefined>>;
  readonly fixedText: string | undefined;
  readonly fields: readonly FieldProblem[];
  readonly retryAfterMs: number | undefined;

  constructor(
    kind: ErrorKind,
    reason: ErrorReason,
    publicMessage: string,
    options: DomainErrorOptions & { readonly metadata?: Readonly<Record<string, string | undefined>> } = {},
  ) {
    const { stackTraceLimit } = Error;
    // Refusals must be cheap, because a caller can cause many of them. Only a fault of the service needs a stack trace.
    if (kind !== 'internal') Error.stackTraceLimit = 0;
    super(publicMessage, options.cause === undefined ? undefined : { cause: options.cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.kind = kind;
    this.reason = reason;
    this.metadata = options.metadata ?? {};
    this.fixedText = options.fixedText;
    this.fields = options.fields ?? [];
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** An expected failure. Its `message` is the sentence that the caller reads. */
export type DomainError = Failure;

/** The constructor of an expected failure. The type of `options` demands the metadata of the reason. */
export const DomainError: {
  readonly prototype: Failure;
  new <const R extends ErrorReason>(
    kind: ErrorKind,
    reason: R,
    publicMessage: string,
    ...options: [RequiredKey<R>] extends [never]
      ? [options?: DomainErrorOptions & { readonly metadata?: ErrorMetadata<R> }]
      : [options: DomainErrorOptions & { readonly metadata: ErrorMetadata<R> }]
  ): Failure;
} = Failure;

/** The 400 for one field. `description` continues a sentence that begins with the field's name: `must be ...`. */
export function invalidField(field: string, description: string): DomainError {
  return invalidFields([{ field, description }]);
}

/** Problems that the sentence names. */
const namedProblems = 3;

/** Problems that an error carries: over gRPC they travel in trailers, which clients limit to 8 KiB. Reading a body stops at as many. */
export const maxProblems = 40;

/** A 400 about several fields. */
export function invalidFields(fields: readonly FieldProblem[], reason: 'FIELD_INVALID' | 'FIELD_UNKNOWN' = 'FIELD_INVALID'): DomainError {
  return new DomainError('invalid', reason, sentenceOf(fields), { fields: fields.slice(0, maxProblems) });
}

function sentenceOf(fields: readonly FieldProblem[]): string {
  const named = fields.slice(0, namedProblems).map(({ field, description }) => `${field} ${description}`);
  const more = fields.length > namedProblems ? `; and ${fields.length - namedProblems} more` : '';
  return named.join('; ') + more;
}

/** Returns the error about these fields. Reason and metadata stay. */
export function withFields(error: DomainError, fields: readonly FieldProblem[]): DomainError {
  return changed(error, sentenceOf(fields), fields.slice(0, maxProblems));
}

/** Returns the error with other names for its fields, in its sentence too. */
export function withFieldNames(error: DomainError, nameOf: (field: string) => string): DomainError {
  const fields = error.fields.map(({ field, description }) => ({ field: nameOf(field), description }));
  let sentence = error.message;
  error.fields.forEach(({ field, description }, index) => {
    sentence = sentence.replace(`${field} ${description}`, () => `${fields[index]?.field} ${description}`);
  });
  return changed(error, sentence, fields);
}

/** Returns the error about a part of the request: its fields are those of the part, or its sentence begins with the path of the part. */
export function withinPart(error: DomainError, path: string): DomainError {
  if (error.fields.length > 0) return withFieldNames(error, (field) => `${path}.${field}`);
  return changed(error, `${path}: ${error.message}`, []);
}

function changed(
  { kind, reason, metadata, fixedText, retryAfterMs, cause }: DomainError,
  sentence: string,
  fields: readonly FieldProblem[],
): DomainError {
  return new Failure(kind, reason, sentence, {
    fields,
    metadata,
    cause,
    ...(fixedText === undefined ? {} : { fixedText }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
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
