/** How far the URLs of a network have come, to notice one that lags. */
export interface Heights<T> {
  /** A URL's head as it just told it. True when it lags: far behind the best of late, and that for long. */
  lags(who: T, height: bigint): boolean;
  /** True when it is far behind at this very moment. */
  isBehind(who: T, height: bigint): boolean;
  /** True when it last told a head as high as the other's last one. */
  hasReached(who: T, other: T): boolean;
}

interface Note {
  readonly height: bigint;
  readonly atMs: number;
  /** Since when it has been far behind; null: it is not. */
  readonly behindSinceMs: number | null;
}

/** Fewer blocks than this are the network's own haste, not a lag. */
const leastBlocks = 3;
/** On fast chains, so much time's worth of blocks. */
const leastLagMs = 3_000;
const blockTimesUntilItLags = 3;
/** A height told longer ago says nothing: the URL may be down, or the chain may have been wound back. */
const greatestNoteAgeMs = 30_000;

/** Makes an empty board. Only a note's own URL is judged by it, so an older note of another never makes it look late. */
export function createHeights<T>(averageBlockTimeMs: number): Heights<T> {
  const notes = new Map<T, Note>();
  const allowed = BigInt(Math.max(leastBlocks, Math.ceil(leastLagMs / averageBlockTimeMs)));
  const greatestAgeMs = Math.max(greatestNoteAgeMs, 3 * averageBlockTimeMs);

  function isBehind(who: T, height: bigint): boolean {
    const freshFromMs = Date.now() - greatestAgeMs;
    return [...notes].some(([other, note]) => other !== who && note.atMs >= freshFromMs && note.height > height + allowed);
  }

  return {
    isBehind,
    hasReached(who, other) {
      const height = notes.get(who)?.height;
      return height !== undefined && height >= (notes.get(other)?.height ?? 0n);
    },
    lags(who, height) {
      const nowMs = Date.now();
      const behindSinceMs = isBehind(who, height) ? (notes.get(who)?.behindSinceMs ?? nowMs) : null;
      notes.set(who, { height, atMs: nowMs, behindSinceMs });
      return behindSinceMs !== null && nowMs - behindSinceMs > blockTimesUntilItLags * averageBlockTimeMs;
    },
  };
}
