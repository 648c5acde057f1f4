import type { DurationClock } from '../../core/work/clock.js';
import { remember } from '../../core/work/remember.js';

/** What nodes deny, and how long they have: a node may lag behind another one that knows it. */
export interface Denials {
  /** Returns true if nodes have denied this for long enough; starts the wait at the first call. */
  isLong(key: string): boolean;
  /** Nodes know it, or what needed it has ended. */
  forget(key: string): void;
}

const maxKeys = 10_000;
/** A transaction that waits is tried again after seconds: a key without a call for this time is forgotten. */
const idleMs = 60_000;

/** Creates a memory of what nodes deny. */
export function createDenials(clock: DurationClock, longMs: number): Denials {
  const waits = new Map<string, { readonly sinceMs: number; readonly askedMs: number }>();
  return {
    isLong(key) {
      const nowMs = clock.elapsedMs();
      const known = waits.get(key);
      const sinceMs = known === undefined || nowMs - known.askedMs > idleMs ? nowMs : known.sinceMs;
      remember(waits, key, { sinceMs, askedMs: nowMs }, maxKeys);
      return nowMs - sinceMs >= longMs;
    },
    forget: (key) => void waits.delete(key),
  };
}
