/** Gives each of many its turn, some at a time, so that what comes to nothing at each turn does not keep the others from theirs. */
export interface Turns {
  /** Returns the items whose turn it is, in the given order. Each has one turn before any has two. */
  next<T>(items: readonly T[], nameOf: (item: T) => string): readonly T[];
}

/** Creates turns for at most this many at a time. */
export function createTurns(most: number): Turns {
  /** The names of the items that had their turn in this round. */
  let had: ReadonlySet<string> = new Set();
  return {
    next(items, nameOf) {
      const waiting = items.filter((item) => !had.has(nameOf(item)));
      const again = items.filter((item) => had.has(nameOf(item)));
      const chosen = [...waiting, ...again].slice(0, most);
      const ofNewRound = chosen.slice(waiting.length);
      const isRoundOver = waiting.length <= most;
      had = new Set([...(isRoundOver ? ofNewRound : [...again, ...chosen])].map(nameOf));
      return chosen;
    },
  };
}
