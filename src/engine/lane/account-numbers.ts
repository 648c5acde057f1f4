import type { Head } from '../../core/ports/chain/head.js';
import type { NonceAnswer } from '../../core/ports/chain/outcomes.js';
import type { Change } from '../../core/ports/store/change.js';
import type { LaneChanges } from '../../core/ports/store/lanes.js';
import type { LaneId } from '../../core/records/transaction.js';
import type { Moment } from './moment.js';

/** A next nonce that differs from ours because of one answer, its head, the endpoint that gave it, and when that was. */
export interface DoubtedNonce {
  readonly nonce: bigint;
  readonly head: Head;
  readonly endpoint: number | undefined;
  readonly since: Moment;
}

/**
 * The nonces of an account, or its sequence numbers, as its lane knows them. Nothing else changes them. Never may one be lower than a nonce
 * that was signed: `next` is at least `signed`.
 */
export interface AccountNumbers {
  /** The first nonce that no block holds, at the settled head. */
  readonly onChain: bigint;
  /** The same, or higher as another endpoint shows it: which slots to search, and nothing else. */
  readonly highestShown: bigint;
  /** The answer that showed `onChain`: another endpoint must confirm it before the relayer is disabled for it. */
  readonly shownBy: NonceAnswer;
  /** The first nonce that neither we nor the chain have used. */
  readonly next: bigint;
  /** One above the highest nonce that we ever signed: a gap can exist only below it. */
  readonly signed: bigint;
  /** Nothing takes a nonce while there is one; null: none. */
  readonly doubted: DoubtedNonce | null;
  /** The store has this next nonce, which is lower than ours if a foreign transaction used the key; undefined: it has none. */
  loaded(stored: bigint | undefined): void;
  /** Every nonce below this one may have been signed. */
  filledUpTo(nonce: bigint): void;
  /**
   * Takes the nonces from `from` up to `to`. `commit` gets the changes that do so, which fail as a conflict if another process took any,
   * and the numbers count as taken when it has succeeded.
   */
  take<T>(from: bigint, to: bigint, commit: (changes: readonly Change[]) => Promise<T>): Promise<T>;
  /** The chain shows this nonce at the head that is settled. */
  chainShows(nonce: bigint, answer: NonceAnswer, highest: bigint): void;
  /** Nodes agree on the next nonce: it is no longer doubted. */
  believe(next: bigint): void;
  /** One answer shows another next nonce. */
  doubt(doubted: DoubtedNonce): void;
}

/** Creates the numbers of an account for which nothing is known yet. */
export function createAccountNumbers(id: LaneId, change: LaneChanges): AccountNumbers {
  let onChain = 0n;
  let highestShown = 0n;
  let shownBy: NonceAnswer = { next: 0n };
  let next = 0n;
  let signed = 0n;
  let doubted: DoubtedNonce | null = null;
  /** The next nonce as stored; null: none is stored yet, and the lane gets its row with the first nonce that it takes. */
  let stored: bigint | null = null;

  function filledUpTo(nonce: bigint): void {
    if (nonce > signed) signed = nonce;
    if (nonce > next) next = nonce;
  }

  return {
    get onChain() {
      return onChain;
    },
    get highestShown() {
      return highestShown;
    },
    get shownBy() {
      return shownBy;
    },
    get next() {
      return next;
    },
    get signed() {
      return signed;
    },
    get doubted() {
      return doubted;
    },
    loaded(read) {
      stored = read ?? null;
      filledUpTo(stored ?? 0n);
    },
    filledUpTo,
    async take(from, to, commit) {
      const changes = stored === null ? [change.openLane(id, from), change.moveLane(id, from, to)] : [change.moveLane(id, stored, to)];
      const result = await commit(changes);
      stored = to;
      filledUpTo(to);
      return result;
    },
    chainShows(nonce, answer, highest) {
      onChain = nonce;
      highestShown = highest;
      shownBy = answer;
    },
    believe(believed) {
      next = believed;
      doubted = null;
    },
    doubt(answered) {
      doubted = answered;
    },
  };
}

/**
 * Returns the nonces from `chainNonce` (the first that no block holds) up to `signedNonce` (one above the highest that we signed) that are
 * not taken, lowest first, at most `max`.
 */
export function emptyNonces(chainNonce: bigint, signedNonce: bigint, isTaken: (nonce: bigint) => boolean, max: number): readonly bigint[] {
  const empty: bigint[] = [];
  for (let nonce = chainNonce; nonce < signedNonce && empty.length < max; nonce += 1n) {
    if (!isTaken(nonce)) empty.push(nonce);
  }
  return empty;
}
