import type { DurationClock } from '../../core/work/clock.js';

/** How long a fact that nodes deny may still appear: a node may lag behind another one that knows it. */
export interface Patience {
  /** Returns true if nodes have denied this for long enough; starts the wait at the first call. */
  isOver(key: string): boolean;
  /** Nodes know it. */
  forget(key: string): void;
}

const maxKeys = 1_000;

/** Creates a memory of what nodes deny. */
export function createPatience(clock: DurationClock, patienceMs: number): Patience {
  const sinceMs = new Map<string, number>();
  return {
    isOver(key) {
      const nowMs = clock.elapsedMs();
      const [oldest] = sinceMs.keys();
      if (sinceMs.size >= maxKeys && oldest !== undefined && !sinceMs.has(key)) sinceMs.delete(oldest);
      const first = sinceMs.get(key) ?? nowMs;
      sinceMs.set(key, first);
      return nowMs - first >= patienceMs;
    },
    forget: (key) => void sinceMs.delete(key),
  };
}
