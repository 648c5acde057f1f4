import { DomainError, type FieldProblem, invalidField, throwProblems } from './errors.js';

const idPattern = /^[A-Za-z0-9_-]{1,36}$/;
const idRule = 'must be 1 to 36 characters from A-Z, a-z, 0-9, _ and -';
const maxNameLength = 100;
/** The maximum number of relayers that an error names: it should stay readable, and fit in a header. */
const maxNamedUsers = 10;

/** True if the text can be the id of a relayer, signer or notification. Anything else need not be looked up. */
export function isEntryId(text: string): boolean {
  return idPattern.test(text);
}

/** Checks an id that a caller chose. Throws `FIELD_INVALID`. */
export function entryIdFromText(text: string, field = 'id'): string {
  if (!isEntryId(text)) throw invalidField(field, idRule);
  return text;
}

/** Returns what is wrong with a name that a caller chose. */
export function nameProblems(name: string): readonly FieldProblem[] {
  if (name !== '' && [...name].length <= maxNameLength && !/[\p{Cc}\p{Surrogate}]/u.test(name)) return [];
  return [{ field: 'name', description: `must be 1 to ${maxNameLength} characters without control characters` }];
}

/** Checks a name that a caller chose. Throws `FIELD_INVALID`. */
export function checkName(name: string): void {
  throwProblems(nameProblems(name));
}

/** The 409 for an id, or another unique value, that is taken. `id`: the entry that has it. */
export function taken(sentence: string, id: string): DomainError {
  return new DomainError('already_exists', 'ID_EXISTS', sentence, { metadata: { id } });
}

/** The 400 for deleting what relayers use. `what` begins the sentence, `advice` ends it. */
export function inUse(
  what: string,
  relayerIds: readonly string[],
  advice: string,
  reason: 'IN_USE' | 'NOTIFICATION_IN_USE' = 'IN_USE',
): DomainError {
  const named = relayerIds.slice(0, maxNamedUsers).join(', ');
  const more = relayerIds.length > maxNamedUsers ? ` and ${relayerIds.length - maxNamedUsers} more` : '';
  return new DomainError('precondition', reason, `${what} is used by the relayers ${named}${more}; ${advice}`, {
    metadata: { relayer_ids: named },
  });
}
