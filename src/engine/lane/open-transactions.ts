import { greatestCost } from '../../core/fees/greatest-cost.js';
import type { OpenTransaction } from '../../core/ports/store.js';
import { isFinal, isSigned } from '../../core/transaction/transaction.js';

/**
 * A lane's open transactions, in memory: those that nothing is signed of in the order accepted, the others by nonce, or alone. It holds what the store holds; every
 * change is committed first and put here after. Nothing here costs more with ten thousand of them, but for the loops over all.
 */
export interface OpenTransactions {
  get(id: string): OpenTransaction | undefined;
  /** Takes in a transaction as it is now; a final one is forgotten. */
  put(open: OpenTransaction): void;
  forget(id: string): void;
  /** Those that nothing is signed of, in the order accepted. */
  waiting(): Iterable<OpenTransaction>;
  waitingCount(): number;
  atNonce(nonce: bigint): OpenTransaction | undefined;
  /** With a nonce, lowest first. */
  slotted(): Iterable<OpenTransaction>;
  slottedCount(): number;
  /** With a nonce and in no block that we know of, lowest first. */
  inFlight(): Iterable<OpenTransaction>;
  inFlightCount(): number;
  /** Signed, without a nonce. */
  unsequenced(): Iterable<OpenTransaction>;
  unsequencedCount(): number;
  /** What all that is in flight may cost at most, in the network's smallest unit. */
  reserved(): bigint;
}

/** Makes an empty transactions. */
export function createOpenTransactions(): OpenTransactions {
  const waiting = new Map<string, OpenTransaction>();
  const slots = new Map<bigint, OpenTransaction>();
  const nonces = new Map<string, bigint>();
  const alone = new Map<string, OpenTransaction>();
  /** Nonces lowest first; those that have no slot any more are passed over, and let go when they are many. */
  let order: bigint[] = [];
  let inFlightCount = 0;
  let reserved = 0n;

  /** Counts what is signed in (1) or out (-1). */
  function count(open: OpenTransaction, sign: 1 | -1): void {
    if (open.transaction.mined !== null) return;
    if (open.transaction.nonce !== null) inFlightCount += sign;
    reserved += BigInt(sign) * dearest(open);
  }

  function addToOrder(nonce: bigint): void {
    const last = order.at(-1);
    if (last === undefined || nonce > last) {
      order.push(nonce);
      return;
    }
    // Behind the others only when a gap is filled.
    order = [...new Set([...order, nonce])].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  }

  function forget(id: string): void {
    waiting.delete(id);
    const single = alone.get(id);
    if (single !== undefined) count(single, -1);
    alone.delete(id);
    const nonce = nonces.get(id);
    if (nonce === undefined) return;
    const open = slots.get(nonce);
    if (open !== undefined) count(open, -1);
    nonces.delete(id);
    slots.delete(nonce);
    if (order.length > 2 * slots.size + 100) order = order.filter((kept) => slots.has(kept));
  }

  function wait(open: OpenTransaction): void {
    const { id } = open.transaction;
    if (!nonces.has(id)) {
      waiting.set(id, open);
      return;
    }
    // It lost its slot, and comes before those that were accepted later: ids are in order of time.
    forget(id);
    const inOrder = [...waiting.values(), open].sort((a, b) => (a.transaction.id < b.transaction.id ? -1 : 1));
    waiting.clear();
    for (const one of inOrder) waiting.set(one.transaction.id, one);
  }

  function takeSlot(open: OpenTransaction, nonce: bigint): void {
    const { id } = open.transaction;
    const earlier = slots.get(nonce);
    if (earlier?.transaction.id === id) count(earlier, -1);
    else {
      forget(id);
      addToOrder(nonce);
    }
    waiting.delete(id);
    nonces.set(id, nonce);
    slots.set(nonce, open);
    count(open, 1);
  }

  function standAlone(open: OpenTransaction): void {
    forget(open.transaction.id);
    alone.set(open.transaction.id, open);
    count(open, 1);
  }

  function* slotted(): Generator<OpenTransaction> {
    // The list may be replaced while it is read; the one that was begun is as good.
    for (const nonce of order) {
      const open = slots.get(nonce);
      if (open !== undefined) yield open;
    }
  }

  return {
    get(id) {
      const nonce = nonces.get(id);
      return nonce === undefined ? (waiting.get(id) ?? alone.get(id)) : slots.get(nonce);
    },
    put(open) {
      const { id, nonce, status } = open.transaction;
      if (isFinal(status)) forget(id);
      else if (nonce !== null) takeSlot(open, nonce);
      else if (isSigned(open.transaction)) standAlone(open);
      else wait(open);
    },
    forget,
    waiting: () => waiting.values(),
    waitingCount: () => waiting.size,
    atNonce: (nonce) => slots.get(nonce),
    slotted,
    slottedCount: () => slots.size,
    *inFlight() {
      for (const open of slotted()) if (open.transaction.mined === null) yield open;
    },
    inFlightCount: () => inFlightCount,
    unsequenced: () => alone.values(),
    unsequencedCount: () => alone.size,
    reserved: () => reserved,
  };
}

/** What the dearest of the versions may cost: any of them may be mined. */
function dearest({ attempts }: OpenTransaction): bigint {
  let most = 0n;
  for (const { fields } of attempts) {
    const cost = greatestCost(fields);
    if (cost > most) most = cost;
  }
  return most;
}
