import { DomainError, invalidField } from '../errors.js';
import type { Store } from '../ports/store.js';
import { shownName } from '../safe-text.js';
import type { RelayerPolicies } from './relayer.js';

/** Greatest number of characters of a name. */
const maxNameLength = 100;

/** Checks a relayer's name. Throws `FIELD_INVALID`. */
export function checkRelayerName(name: string): void {
  if (name === '' || [...name].length > maxNameLength || /[\p{Cc}\p{Surrogate}]/u.test(name)) {
    throw invalidField('name', `must be 1 to ${maxNameLength} characters, none of them a control character`);
  }
}

/** Checks that there is such a notification. Throws `FIELD_INVALID`. */
export async function checkNotification(store: Pick<Store, 'read'>, id: string | null): Promise<void> {
  if (id !== null && (await store.read.notification(id)) === undefined) {
    throw invalidField('notification_id', 'must be the id of a notification');
  }
}

/** Checks what policies together must not say. Throws `FIELD_INVALID`. */
export function checkPolicies(policies: RelayerPolicies): void {
  if (policies.network === 'solana' && policies.allowedAccounts !== null && policies.disallowedAccounts.length > 0) {
    throw invalidField('policies.disallowed_accounts', 'must not be together with allowed_accounts');
  }
}

/** The 404 for an id that names no relayer. */
export function relayerNotFound(id: string): DomainError {
  return new DomainError('not_found', 'RELAYER_NOT_FOUND', `Relayer with ID ${shownName(id)} not found`);
}
