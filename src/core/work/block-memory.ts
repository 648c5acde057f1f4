import { monotonicMs } from './clock.js';

/** Remembers node answers until the next block. */
export interface BlockMemory {
  /** Returns the remembered value or loads it. Concurrent callers share one `load`. A failure is not remembered. */
  recall<T>(key: string, load: () => Promise<T>): Promise<T>;
  /** True if `recall` would not load. */
  has(key: string): boolean;
  /** True if `recall` would neither load nor wait. */
  isAnswered(key: string): boolean;
  forget(key: string): void;
  forgetAll(): void;
}

/** Bounds the memory if many accounts are read between two blocks. */
const maxEntries = 10_000;

/**
 * Creates a memory whose entries also expire after `maxAgeMs`, for a chain whose head nothing watches. The age counts from the answer, and
 * an answer is remembered for as long again as it took: what depends on several slow answers would otherwise never have all of them.
 */
export function createBlockMemory(maxAgeMs: number, nowMs: () => number = monotonicMs): BlockMemory {
  const entries = new Map<string, { untilMs: number | null; readonly value: Promise<unknown> }>();
  const isKept = (entry: { readonly untilMs: number | null }) => entry.untilMs === null || entry.untilMs > nowMs();

  async function loaded<T>(key: string, load: () => Promise<T>): Promise<T> {
    const askedMs = nowMs();
    const entry = { untilMs: null as number | null, value: load() };
    if (entries.size >= maxEntries) entries.clear();
    entries.set(key, entry);
    try {
      return await entry.value;
    } catch (error) {
      if (entries.get(key) === entry) entries.delete(key);
      throw error;
    } finally {
      const answeredMs = nowMs();
      entry.untilMs = answeredMs + maxAgeMs + (answeredMs - askedMs);
    }
  }

  return {
    recall<T>(key: string, load: () => Promise<T>): Promise<T> {
      const known = entries.get(key);
      // Each key is used with one type of `load` only.
      return known !== undefined && isKept(known) ? (known.value as Promise<T>) : loaded(key, load);
    },
    has(key) {
      const known = entries.get(key);
      return known !== undefined && isKept(known);
    },
    isAnswered(key) {
      const known = entries.get(key);
      return known !== undefined && known.untilMs !== null && isKept(known);
    },
    forget: (key) => void entries.delete(key),
    forgetAll: () => entries.clear(),
  };
}
