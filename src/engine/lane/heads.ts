import type { Head } from '../../core/ports/chain.js';

/** The heads that a lane has seen, and up to which of them it knows its account. */
export interface Heads {
  /** The newest one; null: none yet. */
  readonly newest: Head | null;
  /** No RPC node could be used when the head was last read. */
  readonly isUnreachable: boolean;
  /** The newest one up to which every slot is resolved; null: none since the start, so nothing may be signed or broadcast. */
  readonly settled: Head | null;
  /** No second endpoint has shown a receipt at the settled head yet: the head is settled again, also if no other one comes. */
  readonly isToReadAgain: boolean;
  /** The lane has rested since that head: nothing takes a nonce before the account is read again. */
  readonly isStale: boolean;
  see(head: Head): void;
  noteUnreachable(): void;
  /** Every slot is resolved up to this head. */
  settle(head: Head, isToReadAgain?: boolean): void;
  /** The lane rested: see `isStale`. */
  noteRested(): void;
  /** The account was read at the newest head. */
  noteRead(): void;
}

/** Creates the heads of a lane that has seen none. */
export function createHeads(): Heads {
  let newest: Head | null = null;
  let isUnreachable = false;
  let settled: Head | null = null;
  let isStale = false;
  let isToReadAgain = false;

  return {
    get newest() {
      return newest;
    },
    get isUnreachable() {
      return isUnreachable;
    },
    get settled() {
      return settled;
    },
    get isToReadAgain() {
      return isToReadAgain;
    },
    get isStale() {
      return isStale;
    },
    see(head) {
      newest = head;
      isUnreachable = false;
    },
    noteUnreachable() {
      isUnreachable = true;
    },
    settle(head, readsAgain = false) {
      settled = head;
      isToReadAgain = readsAgain;
    },
    noteRested() {
      isStale = true;
    },
    noteRead() {
      isStale = false;
    },
  };
}
