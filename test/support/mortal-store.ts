import type { Reads, Store } from '../../src/core/ports/store/store.js';

/** A store whose process can be killed. */
export interface MortalStore {
  readonly store: Store;
  /** The number of running reads and writes. */
  busy(): number;
  /** Kills the process: running writes may still succeed without an answer, and no further one starts. */
  kill(): void;
}

/** Opens the view of one process on a store that outlives it. */
export function mortalStore(store: Store): MortalStore {
  let isAlive = true;
  let busy = 0;
  const never = new Promise<never>(() => {});

  async function use<T>(work: () => Promise<T>): Promise<T> {
    if (!isAlive) return never;
    busy += 1;
    try {
      const result = await work();
      return isAlive ? result : never;
    } catch (error) {
      if (isAlive) throw error;
      return never;
    } finally {
      busy -= 1;
    }
  }

  const read = new Proxy(store.read, {
    get(reads, name: keyof Reads) {
      const ask = reads[name] as (...asked: readonly unknown[]) => Promise<unknown>;
      return (...asked: readonly unknown[]) => use(() => ask(...asked));
    },
  });
  return {
    store: {
      change: store.change,
      read,
      commit: (changes) => use(() => store.commit(changes)),
      readDurable: (reading, acts) => store.readDurable(reading, acts),
      checkWorking: () => use(() => store.checkWorking()),
      close: () => store.close(),
    },
    busy: () => busy,
    kill() {
      isAlive = false;
    },
  };
}
