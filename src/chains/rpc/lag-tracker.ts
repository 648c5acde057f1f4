import { monotonicMs } from '../../core/ports/clock.js';

/** The newest block of an endpoint. */
export interface Position {
  readonly number: bigint;
  /** The block's own timestamp; null if the network does not report it together with the number. */
  readonly timestampMs: number | null;
}

/** `behind`: far below what the other endpoints show. `ahead`: far above it, although the chain cannot have grown so far. */
export type Standing = 'level' | 'behind' | 'ahead';

/** Compares the positions of a network's endpoints, to find those that lag, and those that claim blocks that cannot exist. */
export interface LagTracker<T> {
  /** Compares a position with the recent ones of the other endpoints. */
  standing(endpoint: T, position: Position): Standing;
  /** Records an endpoint's position. Returns true if it lags: `behind` for several block times. */
  record(endpoint: T, position: Position): boolean;
  /** Remembers a position as the network's head. While no other endpoint has a recent position, a later one is compared with it. */
  accept(endpoint: T, position: Position): void;
  /** True if the last recorded height is at least the other endpoint's. */
  hasReached(endpoint: T, other: T): boolean;
}

interface Observation {
  readonly position: Position;
  readonly atMs: number;
  /** Since when it has been behind; null if it is not. */
  readonly behindSinceMs: number | null;
}

/** A difference up to this is normal propagation, not lag. */
const minLagBlocks = 3;
/** On fast chains, the tolerated difference is the number of blocks in this time. */
const minLagMs = 3_000;
const blockTimesUntilLagging = 3;
/** An older height proves nothing: its endpoint may be down, or the chain may have been reset. */
const minFreshMs = 30_000;
/** Blocks may come this many times as fast as configured. */
const maxGrowthFactor = 4;
/** No node accepts a block whose timestamp is so far in the future. */
const maxFutureMs = 60_000;

/** Creates an empty tracker. It judges an endpoint only when that endpoint's position arrives, so an old observation never makes it look late. */
export function createLagTracker<T>(averageBlockTimeMs: number, nowMs: () => number = monotonicMs): LagTracker<T> {
  const observations = new Map<T, Observation>();
  let accepted: { readonly by: T; readonly position: Position } | null = null;
  const toleratedBlocks = BigInt(Math.max(minLagBlocks, Math.ceil(minLagMs / averageBlockTimeMs)));
  const freshMs = Math.max(minFreshMs, 3 * averageBlockTimeMs);

  /** Whether the chain can have grown from one block to the other, by their own timestamps; null: these are not known. */
  function canGrow(from: Position, to: Position): boolean | null {
    if (from.timestampMs === null || to.timestampMs === null) return null;
    const latestMs = Date.now() + maxFutureMs;
    if (to.timestampMs > latestMs && from.timestampMs <= latestMs) return false;
    return to.timestampMs - from.timestampMs >= (Number(to.number - from.number) * averageBlockTimeMs) / maxGrowthFactor;
  }

  function standing(endpoint: T, position: Position): Standing {
    const freshFromMs = nowMs() - freshMs;
    const others = [...observations]
      .filter(([other, { atMs }]) => other !== endpoint && atMs >= freshFromMs)
      .map(([, seen]) => seen.position);
    const above = others.filter(({ number }) => number > position.number + toleratedBlocks);
    const below = others.filter(({ number }) => number + toleratedBlocks < position.number);
    if (others.length === 0) {
      if (accepted === null || accepted.by === endpoint || position.number <= accepted.position.number + toleratedBlocks) return 'level';
      return canGrow(accepted.position, position) === false ? 'ahead' : 'level';
    }
    // Two or more outvote one. Of two alone, the higher one is wrong if the chain cannot have grown so far.
    if (others.length > 1) return above.length * 2 > others.length ? 'behind' : below.length * 2 > others.length ? 'ahead' : 'level';
    if (above[0] !== undefined) return canGrow(position, above[0]) === false ? 'level' : 'behind';
    return below[0] !== undefined && canGrow(below[0], position) === false ? 'ahead' : 'level';
  }

  return {
    standing,
    accept(endpoint, position) {
      accepted = { by: endpoint, position };
    },
    hasReached(endpoint, other) {
      const height = observations.get(endpoint)?.position.number;
      return height !== undefined && height >= (observations.get(other)?.position.number ?? 0n);
    },
    record(endpoint, position) {
      const atMs = nowMs();
      const isBehind = standing(endpoint, position) === 'behind';
      const behindSinceMs = isBehind ? (observations.get(endpoint)?.behindSinceMs ?? atMs) : null;
      observations.set(endpoint, { position, atMs, behindSinceMs });
      return behindSinceMs !== null && atMs - behindSinceMs > blockTimesUntilLagging * averageBlockTimeMs;
    },
  };
}
