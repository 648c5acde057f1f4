import { errorTable } from '../../../src/api/contract/error-table.js';
import type { HttpPlan, MethodPlan } from '../../../src/api/contract/method-plan.js';
import { parsePathTemplate } from '../../../src/api/rest/path-template.js';
import { fieldRulesOf, unionRulesOf } from '../../../src/codec/field-rules.js';
import { type ErrorKind, type ErrorReason, errorReasons } from '../../../src/core/errors/errors.js';
import { errorHeaders } from './headers.js';
import { refTo, type Schema } from './schema.js';

/** The kinds of error that only RPC has. */
const rpcKinds: readonly ErrorKind[] = ['http_version_not_supported', 'protocol_violation'];

/** The kinds of error that REST has. */
const errorKinds = (Object.keys(errorTable) as readonly ErrorKind[]).filter((kind) => !rpcKinds.includes(kind));

/** The body of every error. */
export const errorSchema: Schema = {
  title: 'ErrorEnvelope',
  type: 'object',
  description: 'The body of every error. The header `X-Error-Reason` contains the reason, for programs.',
  properties: {
    success: { type: 'boolean', description: 'False.' },
    data: { type: ['object', 'null'], description: 'Null.' },
    error: { type: 'string', description: 'What went wrong, in a readable sentence.' },
    message: { type: 'string', description: 'The fixed text of this kind of error.' },
    metadata: refTo('schemas', 'ResponseMetadata'),
  },
  required: ['success', 'data', 'error', 'message'],
  additionalProperties: true,
};

/** A reason that a response can have, and its fixed text; `<...>` is a variable part. */
interface ReasonText {
  readonly reason: ErrorReason;
  readonly text: string;
}

/** The statuses whose reasons differ from operation to operation. */
const ownStatuses: ReadonlySet<number> = new Set([400, 404, 409]);

/** Returns the error responses that operations share, by name: `Unauthorized`, `Forbidden` ... */
export function errorComponents(): Readonly<Record<string, Schema>> {
  const shared = [...kindsByStatus(errorKinds)].filter(([status]) => !ownStatuses.has(status));
  return Object.fromEntries(shared.map(([, kinds]) => [nameOf(kinds), errorResponse(kinds, reasonsOf(kinds))]));
}

/** Returns the error responses of a method by status. */
export function methodErrors(plan: MethodPlan, http: HttpPlan): Readonly<Record<string, Schema>> {
  const kinds = errorKinds.filter((kind) => canAnswer(plan, http, kind));
  return Object.fromEntries(
    [...kindsByStatus(kinds)].map(([status, some]) => [status, ownStatuses.has(status) ? ownResponse(plan, http, some) : errorRef(some)]),
  );
}

function canAnswer(plan: MethodPlan, http: HttpPlan, kind: ErrorKind): boolean {
  switch (kind) {
    case 'path_not_found':
      return false;
    case 'method_not_allowed':
      return http.passesOn;
    case 'bad_gateway':
    case 'deadline_exceeded':
      return declares(plan, kind);
    case 'unauthenticated':
    case 'forbidden':
      return plan.scope !== 'public';
    case 'inactive':
      return plan.relayer === 'active';
    case 'not_found':
      return http.template.includes('{');
    case 'already_exists':
    case 'precondition':
      return declares(plan, kind);
    case 'aborted':
    case 'unprocessable':
      return plan.idempotent;
    case 'stale':
      return plan.method.input.fields.some((field) => fieldRulesOf(field).ifMatch);
    case 'too_large':
      return http.hasBody;
    case 'unsupported_media_type':
      return http.hasBody && !http.passesOn;
    case 'rate_limited':
      return plan.rateLimited || declares(plan, kind);
    case 'unimplemented':
      return plan.reasons.includes('NOT_IMPLEMENTED') || (!http.hasBody && declares(plan, kind)) || hasNetworkShapes(plan);
    default:
      return true;
  }
}

/** Returns true if the method's options name a reason of this kind. */
function declares({ reasons }: MethodPlan, kind: ErrorKind): boolean {
  return reasons.some((reason) => reasonKinds[reason].includes(kind));
}

/** Returns true if the request has a part per network: parts of it can be unimplemented. */
function hasNetworkShapes({ method }: MethodPlan): boolean {
  return method.input.oneofs.some((oneof) => unionRulesOf(oneof).selector.case === 'relayerNetwork');
}

/** Returns a response with the reasons that the method's options name, and those that follow from its path and body. */
function ownResponse(plan: MethodPlan, http: HttpPlan, kinds: readonly ErrorKind[]): Schema {
  const known = [
    // A read that a network does not support is 501.
    ...plan.reasons.filter((reason) => reason !== 'NOT_SUPPORTED_ON_NETWORK' || http.hasBody),
    ...notFoundReasons(http),
    // Every operation refuses unknown and malformed query parameters.
    ...['HOST_INVALID', 'FIELD_UNKNOWN', 'FIELD_INVALID'],
    ...(http.hasBody && !http.passesOn ? ['BODY_MALFORMED'] : []),
    ...(plan.idempotent ? ['IDEMPOTENCY_KEY_INVALID', 'IDEMPOTENCY_KEY_RUNNING'] : []),
  ];
  const reasons = reasonsOf(kinds).filter(({ reason }) => known.includes(reason));
  const relayerText = plan.relayerNotFoundText('<relayer_id>');
  return errorResponse(
    kinds,
    reasons.map(({ reason, text }) => ({ reason, text: reason === 'RELAYER_NOT_FOUND' ? relayerText : text })),
  );
}

/** Derives reasons: `{transaction_id}` in the path, or a GET that returns a `transaction`, gives `TRANSACTION_NOT_FOUND`. */
function notFoundReasons({ verb, template, responseField }: HttpPlan): readonly string[] {
  const variables = parsePathTemplate(template).flatMap((segment) =>
    segment.kind === 'variable' ? [segment.name.replace(/_id$/, '')] : [],
  );
  return [...variables, (verb === 'GET' && responseField) || ''].map((name) => `${name.toUpperCase()}_NOT_FOUND`);
}

/** Refers to the shared response of these kinds, which have one status. */
export function errorRef(kinds: readonly ErrorKind[]): Schema {
  return refTo('responses', nameOf(kinds));
}

/** Returns a response with these reasons of these kinds, which have one status. */
function errorResponse(kinds: readonly ErrorKind[], reasons: readonly ReasonText[]): Schema {
  const texts = [...new Set(reasons.map(({ text }) => text))];
  const examples = texts.map((text) => {
    const message = text.replace('<relayer_id>', 'sandbox');
    return [message, { value: { success: false, data: null, error: exampleOf(kinds, message), message } }];
  });
  return {
    description: `${whenOf(kinds)}. \`message\` is ${codes(texts).join(' or ')}; \`X-Error-Reason\` is ${reasons.length > 1 ? 'one of ' : ''}${codes(reasons.map(({ reason }) => reason)).join(', ')}.`,
    headers: errorHeaders(
      errorTable[kinds[0] ?? 'internal'].httpStatus,
      reasons.map(({ reason }) => reason),
    ),
    content: {
      'application/json': {
        schema: refTo('schemas', 'ErrorEnvelope'),
        examples: Object.fromEntries(examples),
      },
    },
  };
}

/** Returns all statuses and fixed texts as a Markdown table. */
export function errorTableText(): string {
  const rows = [...kindsByStatus(errorKinds)].map(([status, kinds]) => `| ${status} | \`${textOf(kinds)}\` | ${whenOf(kinds)} |`);
  return ['| Status | `message` | When |', '|---|---|---|', ...rows].join('\n');
}

/** Groups kinds by status, in ascending order. */
function kindsByStatus(kinds: readonly ErrorKind[]): ReadonlyMap<number, readonly ErrorKind[]> {
  const byStatus = new Map<number, ErrorKind[]>();
  for (const kind of kinds.toSorted((left, right) => errorTable[left].httpStatus - errorTable[right].httpStatus)) {
    const { httpStatus } = errorTable[kind];
    byStatus.set(httpStatus, [...(byStatus.get(httpStatus) ?? []), kind]);
  }
  return byStatus;
}

/** Returns all reasons of these kinds. */
function reasonsOf(kinds: readonly ErrorKind[]): readonly ReasonText[] {
  return errorReasons
    .filter((reason) => reasonKinds[reason].some((kind) => kinds.includes(kind)))
    .map((reason) => ({ reason, text: reasonTexts[reason] ?? textOf(kinds) }));
}

/** Returns the fixed text of kinds that share a status, and therefore a text. */
function textOf(kinds: readonly ErrorKind[]): string {
  return errorTable[kinds[0] ?? 'internal'].text;
}

function nameOf(kinds: readonly ErrorKind[]): string {
  return textOf(kinds)
    .split(' ')
    .map((word) => word[0]?.toUpperCase() + word.slice(1))
    .join('');
}

function whenOf(kinds: readonly ErrorKind[]): string {
  const [first = '', ...others] = kinds.map((kind) => errorWords[kind][0]);
  return [first, ...others.map((words) => `${words[0]?.toLowerCase()}${words.slice(1)}`)].join(', or ');
}

function codes(texts: readonly string[]): readonly string[] {
  return texts.map((text) => `\`${text}\``);
}

/** A fixed text of its own is also a good `error` sentence. */
function exampleOf(kinds: readonly ErrorKind[], text: string): string {
  return text === textOf(kinds) ? errorWords[kinds[0] ?? 'internal'][1] : text;
}

/** The kinds of error of each reason. The record type makes a new reason without kinds a compile error. */
const reasonKinds: Readonly<Record<ErrorReason, readonly ErrorKind[]>> = {
  HOST_INVALID: ['invalid'],
  PATH_NOT_FOUND: ['path_not_found'],
  METHOD_NOT_ALLOWED: ['method_not_allowed'],
  CREDENTIALS_INVALID: ['unauthenticated'],
  SCOPE_MISSING: ['forbidden'],
  RELAYER_NOT_ALLOWED: ['forbidden'],
  ADDRESS_NOT_ALLOWED: ['forbidden'],
  RATE_LIMITED: ['rate_limited'],
  BODY_TOO_LARGE: ['too_large'],
  CONTENT_TYPE_UNSUPPORTED: ['unsupported_media_type'],
  BODY_MALFORMED: ['invalid'],
  FIELD_UNKNOWN: ['invalid'],
  FIELD_INVALID: ['invalid'],
  WRONG_NETWORK_SHAPE: ['invalid'],
  NOT_SUPPORTED_ON_NETWORK: ['invalid', 'unimplemented'],
  NOT_IMPLEMENTED: ['unimplemented'],
  HTTP_VERSION_NOT_SUPPORTED: ['http_version_not_supported'],
  ENCODING_UNSUPPORTED: ['unsupported_media_type'],
  RELAYER_NOT_FOUND: ['not_found'],
  RELAYER_PAUSED: ['inactive'],
  RELAYER_DISABLED: ['inactive'],
  RELAYER_IN_USE: ['precondition'],
  TRANSACTION_NOT_FOUND: ['not_found'],
  TRANSACTION_MINED: ['precondition'],
  TRANSACTION_CONFIRMED: ['precondition'],
  TRANSACTION_FAILED: ['precondition'],
  TRANSACTION_EXPIRED: ['precondition'],
  TRANSACTION_CANCELED: ['precondition'],
  CANCEL_NOT_POSSIBLE: ['precondition'],
  REPLACEMENT_UNDERPRICED: ['invalid'],
  GAS_PRICE_CAP_EXCEEDED: ['invalid'],
  RECEIVER_NOT_ALLOWED: ['invalid'],
  INSUFFICIENT_FUNDS: ['precondition'],
  EXECUTION_REVERTED: ['invalid'],
  REVISION_MISMATCH: ['stale'],
  RESUME_TOKEN_EXPIRED: ['precondition'],
  TOO_MANY_STREAMS: ['rate_limited'],
  TOO_MANY_TRANSACTIONS: ['rate_limited'],
  EXTERNAL_ID_TAKEN: ['already_exists'],
  NOTIFICATION_NOT_FOUND: ['not_found'],
  NOTIFICATION_EXISTS: ['already_exists'],
  NOTIFICATION_IN_USE: ['precondition'],
  WEBHOOK_TARGET_REFUSED: ['invalid'],
  DELIVERY_NOT_FOUND: ['not_found'],
  SIGNER_NOT_FOUND: ['not_found'],
  NETWORK_NOT_FOUND: ['not_found'],
  API_KEY_NOT_FOUND: ['not_found'],
  ID_EXISTS: ['already_exists'],
  IN_USE: ['precondition'],
  INSTANCE_NOT_FOUND: ['not_found'],
  INSTANCE_ALONE: ['precondition'],
  IDEMPOTENCY_KEY_INVALID: ['invalid'],
  IDEMPOTENCY_KEY_RUNNING: ['aborted'],
  IDEMPOTENCY_KEY_REUSED: ['unprocessable'],
  NODE_UNAVAILABLE: ['unavailable'],
  SIGNER_UNAVAILABLE: ['unavailable'],
  SERVICE_UNAVAILABLE: ['unavailable'],
  DEADLINE_EXCEEDED: ['deadline_exceeded'],
  INTERNAL: ['internal'],
  POLICY_DENIED: ['forbidden'],
  SPEND_LIMIT_EXCEEDED: ['forbidden'],
  APPROVAL_NOT_NEEDED: ['precondition'],
  APPROVAL_BY_SENDER: ['forbidden'],
  POLICIES_LOCKED: ['forbidden'],
  PLUGIN_NOT_FOUND: ['not_found'],
  PLUGIN_FAILED: ['bad_gateway'],
  PLUGIN_TIMED_OUT: ['deadline_exceeded'],
};

/** The fixed texts that replace the text of the kind. */
const reasonTexts: Readonly<Partial<Record<ErrorReason, string>>> = {
  NOTIFICATION_NOT_FOUND: 'Notification not found',
  NOTIFICATION_EXISTS: 'Notification with this ID already exists',
};

/** For each kind of error: when it occurs, and an example of its `error` sentence. */
const errorWords: Readonly<Record<ErrorKind, readonly [when: string, example: string]>> = {
  invalid: ['The request is invalid', 'value must be an integer from 0 to 2^128-1'],
  precondition: ['The state of the resource does not allow the request', 'the transaction is confirmed, so it can no longer be replaced'],
  unauthenticated: ['The API key is missing or invalid', 'the key is not valid'],
  forbidden: ['The API key lacks the scope, or may not use this relayer', 'the key lacks the scope transactions:write'],
  inactive: ['The relayer is paused or disabled', 'relayer sandbox is paused'],
  not_found: ['A resource in the path does not exist', 'Network with ID evm:missing not found'],
  path_not_found: ['The path does not exist', 'this path does not exist'],
  method_not_allowed: [
    'The path does not support this HTTP method; `Allow` lists the methods that it supports',
    'this path accepts only GET, HEAD',
  ],
  already_exists: ['The id is taken', 'Signer with ID treasury already exists'],
  aborted: [
    'A call with this `Idempotency-Key` is still running',
    'a request with this idempotency key is still running; retry to get its response',
  ],
  stale: ['The revision of the record is not the one in `If-Match`', 'the transaction has revision 5, not 3; read it again'],
  too_large: [
    'The body is larger than 1 MiB, or 64 KiB for methods without a rate limit',
    'the body is larger than the limit of 1048576 bytes',
  ],
  unsupported_media_type: ['The body is not UTF-8 JSON, or is compressed', 'the body must be application/json, in UTF-8'],
  unprocessable: ['The `Idempotency-Key` was used for a different request', 'the idempotency key was already used for a different request'],
  rate_limited: ['The API key is over its rate limit; `Retry-After` says when to retry', 'the key is over its rate limit; retry in 1 s'],
  internal: ['The service failed; its log has the cause under the request id', 'Internal Server Error'],
  unimplemented: [
    'The operation is not implemented, or the network does not support it',
    'transactions of this network type are not implemented',
  ],
  unavailable: [
    'No RPC node is reachable, the HSM, cloud or vault of the key does not sign, the service is stopping or overloaded, or its database is unavailable',
    'no RPC node is reachable',
  ],
  bad_gateway: [
    'The process of the plugin is not reachable, broke off, or gave an answer that cannot be passed on. The call may have taken effect',
    'plugin channels is not reachable',
  ],
  http_version_not_supported: ['The method needs HTTP/2', 'gRPC needs HTTP/2; use gRPC-Web or Connect over HTTP/1.1'],
  protocol_violation: ['The messages break the RPC protocol', 'a message is flagged as compressed, but the call names no encoding'],
  deadline_exceeded: [
    'The plugin did not answer in time, or the deadline of the call passed. The call may have taken effect',
    'plugin channels did not answer within 300 s',
  ],
};
