import { StoreAwayError } from '../core/ports/store/change.js';
import type { Store } from '../core/ports/store/store.js';
import type { AuditHealth } from '../core/work/log.js';

/**
 * Returns the same store, which stores no attempt while the audit log refuses, so that the engine signs nothing that no line would show. It
 * waits as for a database that is unavailable.
 */
export function holdAttempts<S extends Pick<Store, 'commit'>>(store: S, audit: Pick<AuditHealth, 'refuses'>): S {
  return {
    ...store,
    async commit(changes) {
      if (audit.refuses() && changes.some(({ name }) => name === 'insertAttempt'))
        throw new StoreAwayError('the audit log cannot be written, and AUDIT_FAIL is closed');
      await store.commit(changes);
    },
  };
}
