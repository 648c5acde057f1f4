import type { OpenTransaction } from '../../core/ports/store.js';
import { isFinal } from '../../core/transaction/transaction.js';

/**
 * A lane's open transactions, in memory: those that wait for a nonce in the order accepted, the others by nonce. It holds what the store holds; every
 * change is committed first and put here after.
 */
export interface Book {
  get(id: string): OpenTransaction | undefined;
  /** Takes in a transaction as it is now; a final one is forgotten. */
  put(open: OpenTransaction): void;
  forget(id: string): void;
  /** Without a nonce, in the order accepted. */
  waiting(): readonly OpenTransaction[];
  waitingCount(): number;
  atNonce(nonce: bigint): OpenTransaction | undefined;
  /** With a nonce, lowest first. */
  slotted(): readonly OpenTransaction[];
  slottedCount(): number;
}

/** Makes an empty book. */
export function createBook(): Book {
  const waiting = new Map<string, OpenTransaction>();
  const slots = new Map<bigint, OpenTransaction>();
  const nonces = new Map<string, bigint>();
  /** Sorted lists, until the next change that moves something. */
  let slottedInOrder: readonly OpenTransaction[] | null = null;

  function forget(id: string): void {
    waiting.delete(id);
    const nonce = nonces.get(id);
    if (nonce === undefined) return;
    nonces.delete(id);
    slots.delete(nonce);
    slottedInOrder = null;
  }

  return {
    get(id) {
      const nonce = nonces.get(id);
      return nonce === undefined ? waiting.get(id) : slots.get(nonce);
    },
    put(open) {
      const { id, nonce, status } = open.transaction;
      if (isFinal(status)) return forget(id);
      if (nonce === null) {
        if (nonces.has(id)) {
          // It lost its slot, and comes before those that were accepted later: ids are in order of time.
          forget(id);
          const inOrder = [...waiting.values(), open].sort((a, b) => (a.transaction.id < b.transaction.id ? -1 : 1));
          waiting.clear();
          for (const one of inOrder) waiting.set(one.transaction.id, one);
        } else {
          waiting.set(id, open);
        }
        return;
      }
      waiting.delete(id);
      nonces.set(id, nonce);
      slots.set(nonce, open);
      slottedInOrder = null;
    },
    forget,
    waiting: () => [...waiting.values()],
    waitingCount: () => waiting.size,
    atNonce: (nonce) => slots.get(nonce),
    slotted() {
      slottedInOrder ??= [...slots].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, open]) => open);
      return slottedInOrder;
    },
    slottedCount: () => slots.size,
  };
}
