import { inOrder } from '../../core/records/bigints.js';

/** The holders of an account's slots, by nonce, and walks over them from the lowest. */
export interface SlotIndex<T> {
  size(): number;
  at(nonce: bigint): T | undefined;
  put(nonce: bigint, holder: T): void;
  /** Frees a slot. Returns false if `holder` does not hold it. */
  free(nonce: bigint, holder: T): boolean;
  /** A walk may go on while slots change: it skips freed slots, and may miss new ones. */
  walk(): Iterable<T>;
}

/** Makes an empty index. */
export function createSlotIndex<T>(): SlotIndex<T> {
  const slots = new Map<bigint, T>();
  /** Nonces, lowest first. Free ones are skipped, and removed when they are many. */
  let order: bigint[] = [];
  let ordered = new Set<bigint>();

  return {
    size: () => slots.size,
    at: (nonce) => slots.get(nonce),
    put(nonce, holder) {
      slots.set(nonce, holder);
      // A transaction that changes leaves the index and comes back.
      if (ordered.has(nonce)) return;
      ordered.add(nonce);
      const last = order.at(-1);
      if (last === undefined || nonce > last) order.push(nonce);
      // Only a filled gap comes before others.
      else order = inOrder([...order, nonce]);
    },
    free(nonce, holder) {
      if (slots.get(nonce) !== holder) return false;
      slots.delete(nonce);
      if (order.length > 2 * slots.size + 100) {
        order = order.filter((kept) => slots.has(kept));
        ordered = new Set(order);
      }
      return true;
    },
    // `order` may be replaced during a walk, which then continues with the earlier array.
    walk: () => holdersAt(order, slots),
  };
}

// Outside of the index, since V8 keeps a prototype and hidden classes for each generator function that was called.
function* holdersAt<T>(nonces: readonly bigint[], slots: ReadonlyMap<bigint, T>): Generator<T> {
  for (const nonce of nonces) {
    const holder = slots.get(nonce);
    if (holder !== undefined) yield holder;
  }
}
