import { onAbort } from './abort.js';

/** Waiters in the order in which they came. */
export interface Queue<T> {
  readonly size: number;
  /** Resolves with what the waiter is served. Rejects with the signal's reason if that aborts before. */
  join(signal?: AbortSignal): Promise<T>;
  /** Serves the first waiter; false: there is none. */
  serve(item: T): boolean;
}

/** Creates a queue without waiters. */
export function createQueue<T>(): Queue<T> {
  const waiting = new Set<(item: T) => void>();
  return {
    get size() {
      return waiting.size;
    },
    join(signal) {
      return new Promise((resolve, reject) => {
        let leave = (): void => undefined;
        const take = (item: T): void => {
          leave();
          resolve(item);
        };
        waiting.add(take);
        if (signal === undefined) return;
        leave = onAbort(signal, () => {
          waiting.delete(take);
          reject(signal.reason);
        });
      });
    },
    serve(item) {
      const [first] = waiting;
      if (first === undefined) return false;
      waiting.delete(first);
      first(item);
      return true;
    },
  };
}
