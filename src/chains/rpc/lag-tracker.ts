/** Compares the heights of a network's endpoints, to find those that lag. */
export interface LagTracker<T> {
  /** Records an endpoint's height. Returns true if it lags: far behind the highest recent one, for several block times. */
  record(endpoint: T, height: bigint): boolean;
  /** True if the height is far behind right now. */
  isBehind(endpoint: T, height: bigint): boolean;
  /** True if the last recorded height is at least the other endpoint's. */
  hasReached(endpoint: T, other: T): boolean;
}

interface Observation {
  readonly height: bigint;
  readonly atMs: number;
  /** Since when it has been far behind; null if it is not. */
  readonly behindSinceMs: number | null;
}

/** A difference up to this is normal propagation, not lag. */
const minLagBlocks = 3;
/** On fast chains, the tolerated difference is the number of blocks in this time. */
const minLagMs = 3_000;
const blockTimesUntilLagging = 3;
/** An older height proves nothing: its endpoint may be down, or the chain may have been reset. */
const minFreshMs = 30_000;

/** Creates an empty tracker. It judges an endpoint only when that endpoint's height arrives, so an old observation never makes it look late. */
export function createLagTracker<T>(averageBlockTimeMs: number): LagTracker<T> {
  const observations = new Map<T, Observation>();
  const toleratedBlocks = BigInt(Math.max(minLagBlocks, Math.ceil(minLagMs / averageBlockTimeMs)));
  const freshMs = Math.max(minFreshMs, 3 * averageBlockTimeMs);

  function isBehind(endpoint: T, height: bigint): boolean {
    const freshFromMs = Date.now() - freshMs;
    return [...observations].some(
      ([other, seen]) => other !== endpoint && seen.atMs >= freshFromMs && seen.height > height + toleratedBlocks,
    );
  }

  return {
    isBehind,
    hasReached(endpoint, other) {
      const height = observations.get(endpoint)?.height;
      return height !== undefined && height >= (observations.get(other)?.height ?? 0n);
    },
    record(endpoint, height) {
      const nowMs = Date.now();
      const behindSinceMs = isBehind(endpoint, height) ? (observations.get(endpoint)?.behindSinceMs ?? nowMs) : null;
      observations.set(endpoint, { height, atMs: nowMs, behindSinceMs });
      return behindSinceMs !== null && nowMs - behindSinceMs > blockTimesUntilLagging * averageBlockTimeMs;
    },
  };
}
