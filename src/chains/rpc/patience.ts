import type { DurationClock } from '../../core/work/clock.js';
import { remember } from '../../core/work/remember.js';

/** How long a fact that nodes deny may still appear: a node may lag behind another one that knows it. */
export interface Patience {
  /** Returns true if nodes have denied this for long enough; starts the wait at the first call. */
  isOver(key: string): boolean;
  /** Nodes know it, or what needed it has ended. */
  forget(key: string): void;
}

const maxKeys = 10_000;
/** A transaction that waits is tried again after seconds: a key without a call for this time is forgotten. */
const idleMs = 60_000;

/** Creates a memory of what nodes deny. */
export function createPatience(clock: DurationClock, patienceMs: number): Patience {
  const waits = new Map<string, { readonly sinceMs: number; readonly askedMs: number }>();
  return {
    isOver(key) {
      const nowMs = clock.elapsedMs();
      const known = waits.get(key);
      const sinceMs = known === undefined || nowMs - known.askedMs > idleMs ? nowMs : known.sinceMs;
      remember(waits, key, { sinceMs, askedMs: nowMs }, maxKeys);
      return nowMs - sinceMs >= patienceMs;
    },
    forget: (key) => void waits.delete(key),
  };
}
