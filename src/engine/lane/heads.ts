import type { Head } from '../../core/ports/chain/head.js';
import type { Network } from '../../core/records/network.js';
import type { DurationClock } from '../../core/work/clock.js';
import type { Stillness } from './stillness.js';

/**
 * How far a lane knows its account. `no_head`: no head was seen. `unsettled`: not since the start, so nothing may be signed or broadcast.
 * `settled`: at the settled head, and it follows. `awaiting_head`: it has rested since, and a head is being read that may be much newer, so
 * nothing is decided at the known one. `stale`: it has rested since, and nothing takes a nonce before the account is read again.
 */
export type Standing = 'no_head' | 'unsettled' | 'settled' | 'awaiting_head' | 'stale';

/** The heads that a lane has seen, and up to which of them it knows its account. */
export interface Heads {
  standing(): Standing;
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
  /** True if nodes may be asked again at the newest head about what stays undecided: on fast chains not at every head. */
  readonly asksAgain: boolean;
  /** See `Stillness.sinceMs`. */
  readonly stillSinceMs: number | null;
  see(head: Head): void;
  noteUnreachable(): void;
  /** Every slot is resolved up to this head. `isUndecided`: nodes may soon show what ends more of them, so it is settled again. */
  settle(head: Head, isUndecided?: boolean): void;
  /** The lane rested. `isAwaited`: a head is being read. */
  noteRested(isAwaited: boolean): void;
  /** The account was read at the newest head. */
  noteRead(): void;
}

/** What is undecided at a head is read again at the next one, or if none comes within this time and this number of block times. */
const nextWithin = { ms: 1_000, blocks: 2 };
/** What stays undecided may stay so for ever. It is asked about at most so often, however fast blocks come. */
export const askAgainMs = 1_000;

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
  let standing: Standing = 'no_head';
  /** When the settled head is settled again; null: nothing is undecided there. */
  let againAtMs: number | null = null;
  let asksAgain = false;
  let askedAgainAtMs = Number.NEGATIVE_INFINITY;

  const isDue = ({ hash }: Head): boolean => hash !== settled?.hash || (againAtMs !== null && clock.elapsedMs() >= againAtMs);

  return {
    standing: () => standing,
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
    get asksAgain() {
      return asksAgain;
    },
    get stillSinceMs() {
      return stillness.sinceMs();
    },
    see(head) {
      stillness.see(head);
      if (newest?.hash !== head.hash) count += 1;
      newest = head;
      asksAgain = isDue(head) && clock.elapsedMs() - askedAgainAtMs >= askAgainMs;
      if (asksAgain) askedAgainAtMs = clock.elapsedMs();
      if (standing === 'no_head') standing = 'unsettled';
      if (standing === 'awaiting_head') standing = 'stale';
      isUnreachable = false;
    },
    noteUnreachable() {
      isUnreachable = true;
    },
    isDue,
    settle(head, isUndecided = false) {
      settled = head;
      if (standing === 'unsettled') standing = 'settled';
      againAtMs = isUndecided ? clock.elapsedMs() + pauseMs : null;
    },
    noteRested(isAwaited) {
      standing = isAwaited ? 'awaiting_head' : 'stale';
    },
    noteRead() {
      if (standing === 'stale') standing = 'settled';
    },
  };
}
