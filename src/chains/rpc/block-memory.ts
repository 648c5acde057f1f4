import { monotonicMs } from '../../core/work/clock.js';

/** Remembers node answers until the next block. */
export interface BlockMemory {
  /** Returns the remembered value or loads it. Concurrent callers share one `load`. A failure is not remembered. */
  recall<T>(key: string, load: () => Promise<T>): Promise<T>;
  /** True if `recall` would not load. */
  has(key: string): boolean;
  forget(key: string): void;
  forgetAll(): void;
}

/** Bounds the memory if many accounts are read between two blocks. */
const maxEntries = 10_000;

/** Creates a memory whose entries also expire after `maxAgeMs`, for a chain whose head nothing watches. */
export function createBlockMemory(maxAgeMs: number, nowMs: () => number = monotonicMs): BlockMemory {
  const entries = new Map<string, { readonly untilMs: number; readonly value: Promise<unknown> }>();
  return {
    recall<T>(key: string, load: () => Promise<T>): Promise<T> {
      const known = entries.get(key);
      // Each key is used with one type of `load` only.
      if (known !== undefined && known.untilMs > nowMs()) return known.value as Promise<T>;
      const value = load();
      if (entries.size >= maxEntries) entries.clear();
      const entry = { untilMs: nowMs() + maxAgeMs, value };
      entries.set(key, entry);
      value.catch(() => {
        if (entries.get(key) === entry) entries.delete(key);
      });
      return value;
    },
    has: (key) => (entries.get(key)?.untilMs ?? 0) > nowMs(),
    forget: (key) => void entries.delete(key),
    forgetAll: () => entries.clear(),
  };
}
