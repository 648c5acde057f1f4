/** Remembers what nodes said, for as long as no newer block is known. */
export interface BlockMemory {
  /** What `load` resolved to earlier, unless it is too old; callers at the same time share one `load`. A failure is not remembered. */
  recall<T>(key: string, load: () => Promise<T>): Promise<T>;
  /** True when `recall` would not load. */
  has(key: string): boolean;
  forget(key: string): void;
  forgetAll(): void;
}

/** Bounds the memory where many accounts are asked about between two blocks. */
const greatestSize = 10_000;

/** Makes a memory whose entries also end after `maxAgeMs`, for a chain whose head nobody watches. */
export function createBlockMemory(maxAgeMs: number): BlockMemory {
  const entries = new Map<string, { readonly untilMs: number; readonly value: Promise<unknown> }>();
  return {
    recall<T>(key: string, load: () => Promise<T>): Promise<T> {
      const known = entries.get(key);
      // The key says the type: each is used with one kind of `load`.
      if (known !== undefined && known.untilMs > Date.now()) return known.value as Promise<T>;
      const value = load();
      if (entries.size >= greatestSize) entries.clear();
      const entry = { untilMs: Date.now() + maxAgeMs, value };
      entries.set(key, entry);
      value.catch(() => {
        if (entries.get(key) === entry) entries.delete(key);
      });
      return value;
    },
    has: (key) => (entries.get(key)?.untilMs ?? 0) > Date.now(),
    forget: (key) => void entries.delete(key),
    forgetAll: () => entries.clear(),
  };
}
