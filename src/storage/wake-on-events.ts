import type { Store } from '../core/ports/store.js';

/** Returns the same store, which calls `wake` after each commit that makes an event pending. */
export function wakeOnEvents(store: Store, wake: () => void): Store {
  return {
    ...store,
    async commit(changes) {
      await store.commit(changes);
      if (changes.some(({ name }) => name === 'insertEvent' || name === 'redeliverEvent')) wake();
    },
  };
}
