import { type ErrorKind, type ErrorReason, errorReasons } from '../../../core/errors.js';
import { errorTable } from '../../contract/error-table.js';
import { errorWords } from './error-words.js';
import { errorHeaders } from './headers.js';
import { reasonKinds, reasonTexts } from './reason-kinds.js';
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
