import { DomainError, invalidField } from '../errors.js';
import type { Directory } from '../ports/directory.js';
import type { Store } from '../ports/store.js';
import { shownName } from '../safe-text.js';
import type { Relayer, RelayerPolicies } from './relayer.js';

/** Checks that the notification exists. Throws `FIELD_INVALID`. */
export async function checkNotification(store: Pick<Store, 'read'>, id: string | null): Promise<void> {
  if (id !== null && (await store.read.notification(id)) === undefined) {
    throw invalidField('notification_id', 'must be the id of an existing notification');
  }
}

/** Checks policies that exclude one another. Throws `FIELD_INVALID`. */
export function checkPolicies(policies: RelayerPolicies): void {
  if (policies.network === 'solana' && policies.allowedAccounts !== null && policies.disallowedAccounts.length > 0) {
    throw invalidField('policies.disallowed_accounts', 'must not be set together with allowed_accounts');
  }
}

/** Returns the relayer with this id. Throws `RELAYER_NOT_FOUND`. */
export function requireRelayer(directory: Pick<Directory, 'relayer'>, id: string): Relayer {
  const relayer = directory.relayer(id);
  if (relayer === undefined) throw new DomainError('not_found', 'RELAYER_NOT_FOUND', `Relayer with ID ${shownName(id)} not found`);
  return relayer;
}
