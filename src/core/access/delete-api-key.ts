import { DomainError } from '../errors.js';
import { ConflictError, type Store } from '../ports/store.js';
import { shownName } from '../shown-name.js';
import { mayManageKey } from './api-key.js';
import type { KeyRing } from './key-ring.js';
import type { Principal } from './principal.js';

/** What deleting works with. */
export interface DeleteApiKeyDeps {
  readonly store: {
    readonly read: Pick<Store['read'], 'apiKeys'>;
    readonly change: Pick<Store['change'], 'deleteApiKey'>;
    readonly commit: Store['commit'];
  };
  readonly keys: Pick<KeyRing, 'remove'>;
}

/**
 * Deletes a key: it opens nothing from then on. A caller whose key is for some relayers may delete the keys for those alone, itself among
 * them; others are as unknown to it. Null is the operator at the command line. Throws `API_KEY_NOT_FOUND`, also for the bootstrap key,
 * which is the environment's.
 */
export async function deleteApiKey({ store, keys }: DeleteApiKeyDeps, id: string, caller: Principal | null): Promise<void> {
  const stored = (await store.read.apiKeys()).find((key) => key.id === id);
  if (stored === undefined || (caller !== null && !mayManageKey(caller, stored))) throw apiKeyNotFound(id);
  try {
    await store.commit([store.change.deleteApiKey(id)]);
  } catch (error) {
    // Keys never change, so somebody else deleted it just now.
    throw error instanceof ConflictError ? apiKeyNotFound(id) : error;
  }
  keys.remove(id);
}

function apiKeyNotFound(id: string): DomainError {
  return new DomainError('not_found', 'API_KEY_NOT_FOUND', `API key with ID ${shownName(id)} not found`);
}
