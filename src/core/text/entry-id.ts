import { DomainError, invalidField } from '../errors/errors.js';
import { readEach } from '../errors/read-all.js';
import { checkText, syntaxes } from './text-syntax.js';

/** The maximum number of relayers that an error names: it should stay readable, and fit in a header. */
const maxNamedUsers = 10;

/** True if the text can be the id of a relayer, signer or notification. Anything else need not be looked up. */
export function isEntryId(text: string): boolean {
  return syntaxes.entry_id.pattern.test(text);
}

/** Checks an id that a caller chose. Throws `FIELD_INVALID`. */
export function entryIdFromText(text: string, field = 'id'): string {
  checkText(field, text, syntaxes.entry_id);
  return text;
}

/** The maximum number of relayers that a list of a caller names. */
const maxRelayers = 1_000;

/** Checks the relayers that a caller names, which need not exist. Throws `FIELD_INVALID`. */
export function checkRelayerIds(relayerIds: readonly string[]): void {
  if (relayerIds.length > maxRelayers) throw invalidField('relayer_ids', `must name at most ${maxRelayers} relayers`);
  readEach(relayerIds, (id, index) => entryIdFromText(id, `relayer_ids[${index}]`));
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
