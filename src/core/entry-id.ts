import { DomainError, invalidField } from './errors.js';

const pattern = /^[A-Za-z0-9_-]{1,36}$/;

/** The id that a caller chose for a new relayer or signer: 1 to 36 of `A-Z a-z 0-9 _ -`. Throws `FIELD_INVALID`. */
export function entryIdFromText(text: string): string {
  if (!pattern.test(text)) throw invalidField('id', 'must be 1 to 36 of the characters A-Z, a-z, 0-9, _ and -');
  return text;
}

/** The 409 for an id, or what else must be unique, that is taken. */
export function taken(sentence: string): DomainError {
  return new DomainError('already_exists', 'ID_EXISTS', sentence);
}

/** An error should stay readable, and small enough for a header. */
const namedUsers = 10;

/** The 400 for deleting what relayers use. `what` begins the sentence. */
export function inUse(what: string, relayerIds: readonly string[]): DomainError {
  const named = relayerIds.slice(0, namedUsers).join(', ');
  const more = relayerIds.length > namedUsers ? ` and ${relayerIds.length - namedUsers} more` : '';
  return new DomainError('precondition', 'IN_USE', `${what} is used by the relayers ${named}${more}`);
}
