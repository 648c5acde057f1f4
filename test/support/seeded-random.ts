/** Random choices that a seed repeats. */
export interface Random {
  /** At least 0, below 1. */
  next(): number;
  /** An integer from `least` to `most`, both possible. */
  between(least: number, most: number): number;
  /** True with this probability. */
  chance(probability: number): boolean;
  /** Choices of its own, so that those of one part of a test do not depend on how many another part has made. */
  fork(name: string): Random;
}

/** Makes random choices from a seed (mulberry32). */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;

  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  }

  return {
    next,
    between: (least, most) => least + Math.floor(next() * (most - least + 1)),
    chance: (probability) => next() < probability,
    fork: (name) => createRandom([...name].reduce((hash, letter) => Math.imul(hash ^ letter.charCodeAt(0), 16777619), seed ^ 0x811c9dc5)),
  };
}
