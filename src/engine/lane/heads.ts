import type { Head } from '../../core/ports/chain.js';
import type { Stillness } from './stillness.js';

/** The heads that a lane has seen, and up to which of them it knows its account. */
export interface Heads {
  /** The newest one; null: none yet. */
  readonly newest: Head | null;
  /** How often the newest head has changed. Waiting is counted so: one wrong height would end it, or make it endless. */
  readonly count: number;
  /** No RPC node could be used when the head was last read. */
  readonly isUnreachable: boolean;
  /** The newest one up to which every slot is resolved; null: none since the start, so nothing may be signed or broadcast. */
  readonly settled: Head | null;
  /** No second endpoint has shown a receipt at the settled head yet: the head is settled again, also if no other one comes. */
  readonly isToReadAgain: boolean;
  /** The lane has rested since that head: nothing takes a nonce before the account is read again. */
  readonly isStale: boolean;
  /** A head is being read that may be much newer: nothing is decided at the known one. */
  readonly isAwaited: boolean;
  /** See `Stillness.sinceMs`. */
  readonly stillSinceMs: number | null;
  see(head: Head): void;
  noteUnreachable(): void;
  /** Every slot is resolved up to this head. */
  settle(head: Head, isToReadAgain?: boolean): void;
  /** The lane rested: see `isStale` and `isAwaited`. */
  noteRested(isAwaited: boolean): void;
  /** The account was read at the newest head. */
  noteRead(): void;
}

/** Creates the heads of a lane that has seen none. */
export function createHeads(stillness: Stillness): Heads {
  let newest: Head | null = null;
  let count = 0;
  let isUnreachable = false;
  let settled: Head | null = null;
  let isStale = false;
  let isAwaited = false;
  let isToReadAgain = false;

  return {
    get newest() {
      return newest;
    },
    get count() {
      return count;
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
    get isAwaited() {
      return isAwaited;
    },
    get stillSinceMs() {
      return stillness.sinceMs();
    },
    see(head) {
      stillness.see(head);
      if (newest?.hash !== head.hash) count += 1;
      newest = head;
      isAwaited = false;
      isUnreachable = false;
    },
    noteUnreachable() {
      isUnreachable = true;
    },
    settle(head, readsAgain = false) {
      settled = head;
      isToReadAgain = readsAgain;
    },
    noteRested(awaited) {
      isStale = true;
      isAwaited = awaited;
    },
    noteRead() {
      isStale = false;
    },
  };
}

/** True if something may be signed and broadcast. */
export function isSettled({ settled, isStale }: Pick<Heads, 'settled' | 'isStale'>): boolean {
  return settled !== null && !isStale;
}
