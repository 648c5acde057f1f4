import type { Head } from '../../core/ports/chain.js';
import type { Network } from '../../core/records/network.js';
import type { DurationClock } from '../../core/work/clock.js';
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
  /** True if a head must be settled: it is another one, or what was undecided at the settled one has waited long for the next. */
  isDue(head: Head): boolean;
  /** The lane has rested since that head: nothing takes a nonce before the account is read again. */
  readonly isStale: boolean;
  /** A head is being read that may be much newer: nothing is decided at the known one. */
  readonly isAwaited: boolean;
  /** See `Stillness.sinceMs`. */
  readonly stillSinceMs: number | null;
  see(head: Head): void;
  noteUnreachable(): void;
  /** Every slot is resolved up to this head. `isUndecided`: no second endpoint has shown a receipt yet, so that it is settled again. */
  settle(head: Head, isUndecided?: boolean): void;
  /** The lane rested: see `isStale` and `isAwaited`. */
  noteRested(isAwaited: boolean): void;
  /** The account was read at the newest head. */
  noteRead(): void;
}

/** What is undecided at a head is read again at the next one, or if none comes within this time and this number of block times. */
const nextWithin = { ms: 1_000, blocks: 2 };

/** Creates the heads of a lane that has seen none. */
export function createHeads(
  stillness: Stillness,
  clock: DurationClock,
  { averageBlockTimeMs }: Pick<Network, 'averageBlockTimeMs'>,
): Heads {
  const pauseMs = Math.max(nextWithin.ms, nextWithin.blocks * averageBlockTimeMs);
  let newest: Head | null = null;
  let count = 0;
  let isUnreachable = false;
  let settled: Head | null = null;
  let isStale = false;
  let isAwaited = false;
  /** When the settled head is settled again; null: nothing is undecided there. */
  let againAtMs: number | null = null;

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
    isDue: ({ hash }) => hash !== settled?.hash || (againAtMs !== null && clock.elapsedMs() >= againAtMs),
    settle(head, isUndecided = false) {
      settled = head;
      againAtMs = isUndecided ? clock.elapsedMs() + pauseMs : null;
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
