import type { Change, Changes, OldTransaction } from '../ports/store.js';

/** Which of a relayer's oldest transactions are removed, and where the others go. */
export interface Removal {
  readonly removed: number;
  /** For one commit, in this order. */
  readonly changes: readonly Change[];
  /** None of them may be removed ever, until others end: more must be looked at. */
  readonly isHeldUp: boolean;
}

/**
 * Removes those that ended before this time. `oldest`: from the first on, in order, without gaps.
 *
 * Places stay without gaps, since a page is found by its place: those that stay move up into the places of the removed ones, the youngest first,
 * so that no place is taken twice. They are few: transactions end in about the order in which they were accepted.
 */
export function removeOldest(
  change: Pick<Changes, 'removeTransaction' | 'moveTransaction'>,
  oldest: readonly OldTransaction[],
  beforeMs: number,
): Removal {
  const isRemoved = ({ endedAtMs, sharesSlot }: OldTransaction): boolean => endedAtMs !== null && endedAtMs < beforeMs && !sharesSlot;
  const removed = oldest.filter(isRemoved);
  const moves: Change[] = [];
  let freed = 0;
  for (const transaction of oldest.toReversed()) {
    if (isRemoved(transaction)) freed += 1;
    else if (freed > 0) moves.push(change.moveTransaction(transaction.id, transaction.place, transaction.place + freed));
  }
  return {
    removed: removed.length,
    changes: [...removed.map(({ id }) => change.removeTransaction(id)), ...moves],
    isHeldUp: oldest.length > 0 && oldest.every(({ endedAtMs, sharesSlot }) => endedAtMs === null || sharesSlot),
  };
}
