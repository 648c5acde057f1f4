/** Gives turns by weight: of those that stand ready, each is chosen as often as its weight says, as evenly as can be. */
export interface Turns<T> {
  /** The next of `candidates`, which must not be empty. */
  next(candidates: readonly T[]): T;
}

/** Smooth weighted round robin: everyone gains its weight at each turn, the richest goes and pays what all gained. */
export function createTurns<T extends { readonly weight: number }>(): Turns<T> {
  const credits = new Map<T, number>();
  return {
    next(candidates) {
      const [first] = candidates;
      if (first === undefined) throw new Error('nobody to give a turn to');
      let richest = first;
      let total = 0;
      for (const one of candidates) {
        total += one.weight;
        credits.set(one, (credits.get(one) ?? 0) + one.weight);
        if ((credits.get(one) ?? 0) > (credits.get(richest) ?? 0)) richest = one;
      }
      credits.set(richest, (credits.get(richest) ?? 0) - total);
      return richest;
    },
  };
}
