import type { DurationClock } from '../../core/work/clock.js';
import { remember } from '../../core/work/remember.js';

/**
 * Proofs of death that no other endpoint confirms. An only node that shows a false chain, such as one that jumps ahead, gives a whole proof
 * of it; a transaction that is signed again on that proof is paid twice. So the proof must be given twice, minutes apart, each time by
 * blocks that are read for it, and nothing in between may contradict it.
 */
export interface LoneProofs {
  /** True while the first proof of this attempt is too young for a second one to count. */
  isWaiting(hash: string): boolean;
  /** Begins the second proof, for which blocks must be read again. True once, after the wait. */
  beginSecond(hash: string): boolean;
  /** Takes in a proof. Returns true if it is the second one. */
  take(hash: string): boolean;
  /** The node contradicts the first proof. */
  forget(hash: string): void;
}

/** A node that is repaired or restarted within this time proves no death with what it showed before. */
export const betweenProofsMs = 240_000;
/** An attempt that is forgotten waits once more. */
const maxProofs = 10_000;

/** Creates an empty memory of proofs. */
export function createLoneProofs(clock: DurationClock): LoneProofs {
  const proofs = new Map<string, { readonly atMs: number; isReadAgain: boolean }>();
  const ageOf = (hash: string): number => clock.elapsedMs() - (proofs.get(hash)?.atMs ?? Number.NEGATIVE_INFINITY);
  return {
    isWaiting: (hash) => ageOf(hash) < betweenProofsMs,
    beginSecond(hash) {
      const proof = proofs.get(hash);
      if (proof === undefined || proof.isReadAgain || ageOf(hash) < betweenProofsMs) return false;
      proof.isReadAgain = true;
      return true;
    },
    take(hash) {
      const proof = proofs.get(hash);
      if (proof === undefined) remember(proofs, hash, { atMs: clock.elapsedMs(), isReadAgain: false }, maxProofs);
      return proof?.isReadAgain === true;
    },
    forget: (hash) => void proofs.delete(hash),
  };
}
