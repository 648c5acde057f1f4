import type { Store } from '../core/ports/store.js';

/** The same store, which says after each commit that made an event pending that the outbox has something to deliver. */
export function wakingOnEvents(store: Store, wake: () => void): Store {
  return {
    ...store,
    async commit(changes) {
      await store.commit(changes);
      if (changes.some(({ name }) => name === 'insertEvent' || name === 'redeliverEvent')) wake();
    },
  };
}
