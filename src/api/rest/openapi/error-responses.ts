import { type ErrorKind, type ErrorReason, errorReasons } from '../../../core/errors.js';
import { errorTable } from '../../contract/error-table.js';
import { errorHeaders } from './headers.js';
import { refTo, type Schema } from './schema.js';

/** Every kind of error. */
export const errorKinds = Object.keys(errorTable) as readonly ErrorKind[];

/** The body of every error. */
export const errorSchema: Schema = {
  type: 'object',
  description: 'What every error answers. The header `X-Error-Reason` says why, for a program to act on.',
  properties: {
    success: { type: 'boolean', const: false },
    data: { type: 'null' },
    error: { type: 'string', description: 'What exactly went wrong, for a person to read.' },
    message: { type: 'string', description: 'The fixed text of this kind of error, for a program to match.' },
    metadata: refTo('schemas', 'ResponseMetadata'),
  },
  required: ['success', 'data', 'error', 'message'],
};

/** A reason that an answer can have, and the fixed text that goes with it; `<` and `>` stand around what differs. */
export interface ReasonText {
  readonly reason: ErrorReason;
  readonly text: string;
}

/** The answers that are the same wherever they come, by the names that refer to them: `BadRequest`, `Unauthorized` ... */
export function errorComponents(): Readonly<Record<string, Schema>> {
  return Object.fromEntries([...kindsByStatus(errorKinds)].map(([, kinds]) => [nameOf(kinds), errorResponse(kinds, reasonsOf(kinds))]));
}

/** Names the answer that all errors of this status share. */
export function errorRef(kinds: readonly ErrorKind[]): Schema {
  return refTo('responses', nameOf(kinds));
}

/** An answer with some of the reasons of these kinds, which have one status. */
export function errorResponse(kinds: readonly ErrorKind[], reasons: readonly ReasonText[]): Schema {
  const texts = [...new Set(reasons.map(({ text }) => text))];
  const examples = texts.map((text) => {
    const message = text.replace('<relayer_id>', 'sandbox');
    return [message, { value: { success: false, data: null, error: exampleOf(kinds, message), message } }];
  });
  return {
    description: `${whenOf(kinds)}. \`message\` is ${codes(texts).join(' or ')}; \`X-Error-Reason\` is ${codes(reasons.map(({ reason }) => reason)).join(', ')}.`,
    headers: errorHeaders(
      errorTable[kinds[0] ?? 'internal'].httpStatus,
      reasons.map(({ reason }) => reason),
    ),
    content: {
      'application/json': {
        schema: { allOf: [refTo('schemas', 'Error'), { properties: { message: textsSchema(texts) } }] },
        examples: Object.fromEntries(examples),
      },
    },
  };
}

/** Every status and fixed text there is, as a table in Markdown. */
export function errorTableText(): string {
  const rows = [...kindsByStatus(errorKinds)].map(([status, kinds]) => `| ${status} | \`${textOf(kinds)}\` | ${whenOf(kinds)} |`);
  return ['| Status | `message` | When |', '|---|---|---|', ...rows].join('\n');
}

/** The kinds by their statuses, in rising order. */
export function kindsByStatus(kinds: readonly ErrorKind[]): ReadonlyMap<number, readonly ErrorKind[]> {
  const byStatus = new Map<number, ErrorKind[]>();
  for (const kind of kinds.toSorted((left, right) => errorTable[left].httpStatus - errorTable[right].httpStatus)) {
    const { httpStatus } = errorTable[kind];
    byStatus.set(httpStatus, [...(byStatus.get(httpStatus) ?? []), kind]);
  }
  return byStatus;
}

/** All reasons that these kinds come with. */
export function reasonsOf(kinds: readonly ErrorKind[]): readonly ReasonText[] {
  return errorReasons
    .filter((reason) => reasonKinds[reason].some((kind) => kinds.includes(kind)))
    .map((reason) => ({ reason, text: reasonTexts[reason] ?? textOf(kinds) }));
}

/** The fixed text of kinds that share a status, and so their text. */
export function textOf(kinds: readonly ErrorKind[]): string {
  return errorTable[kinds[0] ?? 'internal'].text;
}

function nameOf(kinds: readonly ErrorKind[]): string {
  return textOf(kinds)
    .split(' ')
    .map((word) => word[0]?.toUpperCase() + word.slice(1))
    .join('');
}

function whenOf(kinds: readonly ErrorKind[]): string {
  return kinds.map((kind) => errorWords[kind].when).join('. Or: ');
}

function codes(texts: readonly string[]): readonly string[] {
  return texts.map((text) => `\`${text}\``);
}

/** A text of its own says all there is to say. */
function exampleOf(kinds: readonly ErrorKind[], text: string): string {
  return text === textOf(kinds) ? errorWords[kinds[0] ?? 'internal'].example : text;
}

function textsSchema(texts: readonly string[]): Schema {
  const schemas = texts.map((text) =>
    text.includes('<') ? { type: 'string', pattern: `^${text.replace(/<[^>]*>/, '.*')}$` } : { type: 'string', const: text },
  );
  return schemas.length === 1 ? { ...schemas[0] } : { anyOf: schemas };
}

/** The kinds of error that each reason comes with. The compiler asks for a line here where a reason is added. */
export const reasonKinds: Readonly<Record<ErrorReason, readonly ErrorKind[]>> = {
  HOST_INVALID: ['invalid'],
  PATH_NOT_FOUND: ['path_not_found'],
  METHOD_NOT_ALLOWED: ['method_not_allowed'],
  CREDENTIALS_INVALID: ['unauthenticated'],
  SCOPE_MISSING: ['forbidden'],
  RELAYER_NOT_ALLOWED: ['forbidden'],
  RATE_LIMITED: ['rate_limited'],
  BODY_TOO_LARGE: ['too_large'],
  CONTENT_TYPE_UNSUPPORTED: ['unsupported_media_type'],
  BODY_MALFORMED: ['invalid'],
  FIELD_UNKNOWN: ['invalid'],
  FIELD_INVALID: ['invalid'],
  WRONG_NETWORK_SHAPE: ['invalid'],
  NOT_SUPPORTED_ON_NETWORK: ['invalid', 'unimplemented'],
  NOT_IMPLEMENTED: ['unimplemented'],
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
  // Of streams, which are over RPC only.
  READER_TOO_SLOW: [],
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
  IDEMPOTENCY_KEY_INVALID: ['invalid'],
  IDEMPOTENCY_KEY_RUNNING: ['aborted'],
  IDEMPOTENCY_KEY_REUSED: ['unprocessable'],
  NODE_UNAVAILABLE: ['unavailable'],
  SERVICE_UNAVAILABLE: ['unavailable'],
  INTERNAL: ['internal'],
};

/** The fixed texts of reasons that have one of their own, in place of their kind's. */
export const reasonTexts: Readonly<Partial<Record<ErrorReason, string>>> = {
  NOTIFICATION_NOT_FOUND: 'Notification not found',
  NOTIFICATION_EXISTS: 'Notification with this ID already exists',
};

/** When a kind of error comes, and a sentence that such an answer may have in `error`. */
interface ErrorWords {
  readonly when: string;
  readonly example: string;
}

/** What the reference says of each kind of error. */
const errorWords: Readonly<Record<ErrorKind, ErrorWords>> = {
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
