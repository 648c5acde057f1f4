import { type DurationClock, systemClock } from '../../core/work/clock.js';
import { remember } from '../../core/work/remember.js';

/** The newest block of an endpoint. */
export interface Position {
  readonly number: bigint;
  /** The block's own timestamp; null if the network does not report it together with the number. */
  readonly timestampMs: number | null;
  /** Absent: the network does not report it together with the number. */
  readonly hash?: string;
  /** The hash of the block below it; absent or null: not known. */
  readonly parentHash?: string | null;
}

/** `behind`: far below what the other endpoints show. `ahead`: far above it, although the chain cannot have grown so far. */
export type Standing = 'level' | 'behind' | 'ahead';

/** Compares the positions of a network's endpoints, to find endpoints that lag, or claim blocks that cannot exist. */
export interface LagTracker<T> {
  /** Compares a position with the recent ones of the other endpoints. */
  standing(endpoint: T, position: Position): Standing;
  /**
   * Records an endpoint's position. `askedAtMs`: when it was asked for, default now; the chain may have grown since then. Returns true if
   * it lags: `behind` for several block times.
   */
  record(endpoint: T, position: Position, askedAtMs?: number): boolean;
  /** Remembers a position as the network's head. While no other endpoint has a recent position, a later one is compared with it. */
  accept(endpoint: T, position: Position): void;
  /**
   * Returns what endpoints showed about this block, or its parent, before: at which height, and whether that fits. Distrusted endpoints say
   * nothing about others.
   */
  wordsAbout(endpoint: T, position: Position): readonly Word<T>[];
  /**
   * Forgets what an endpoint showed, because it contradicted itself. For a while it is compared with the others, but they are not compared
   * with it.
   */
  distrust(endpoint: T): void;
  /** True while the word of an endpoint counts less than that of another one. */
  isDistrusted(endpoint: T): boolean;
  /** True if the last recorded height is at least the other endpoint's. */
  hasReached(endpoint: T, other: T): boolean;
}

/** What an endpoint showed about a block. */
export interface Word<T> {
  readonly by: T;
  readonly hash: string;
  readonly number: bigint;
  /** False: one of the two is wrong. */
  readonly fits: boolean;
}

/** A position, and when it was seen. */
interface Sighting {
  readonly position: Position;
  readonly atMs: number;
}

interface Observation extends Sighting {
  readonly askedAtMs: number;
  /** The first sighting of this height. */
  readonly reached: Sighting;
  /** The last position to which the chain can have grown since the one before. */
  readonly plausible: Sighting;
  /** Since when it has been behind; null if it is not. */
  readonly behindSinceMs: number | null;
}

/** An endpoint whose newest block is not older than this follows the chain, at any number. */
export const recentMs = 120_000;

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
/** Of each endpoint the heights of this many newest blocks are remembered. */
const maxHeights = 64;
/** An endpoint that contradicted itself is distrusted for as long as this. */
const distrustedForMs = 600_000;

/** Returns the number of newest blocks that an endpoint may not have yet without lagging. */
export function propagationBlocks(averageBlockTimeMs: number): bigint {
  return BigInt(Math.max(minLagBlocks, Math.ceil(minLagMs / averageBlockTimeMs)));
}

/**
 * Creates an empty tracker. It judges an endpoint only when that endpoint's position arrives, so an old observation never makes it look
 * late.
 */
export function createLagTracker<T>(averageBlockTimeMs: number, { nowMs, elapsedMs }: DurationClock = systemClock): LagTracker<T> {
  const observations = new Map<T, Observation>();
  /** The heights of blocks by hash, as each endpoint showed them. */
  const heights = new Map<T, Map<string, bigint>>();
  /** Until when an endpoint is distrusted. */
  const distrusted = new Map<T, number>();
  let accepted: (Sighting & { readonly by: T }) | null = null;
  const toleratedBlocks = propagationBlocks(averageBlockTimeMs);
  const freshMs = Math.max(minFreshMs, 3 * averageBlockTimeMs);

  function isOfFuture({ timestampMs }: Position): boolean {
    return timestampMs !== null && timestampMs > nowMs() + maxFutureMs;
  }

  /**
   * Reports whether the chain can have grown from one block to the other: by their own timestamps, or if these are not known, in the time
   * between the sightings.
   */
  function canGrow(from: Sighting, to: Sighting): boolean {
    const blocks = Number(to.position.number - from.position.number);
    const [fromMs, toMs] = [from.position.timestampMs, to.position.timestampMs];
    if (fromMs === null || toMs === null)
      return ((blocks - Number(toleratedBlocks)) * averageBlockTimeMs) / maxGrowthFactor <= to.atMs - from.atMs;
    if (isOfFuture(to.position) && !isOfFuture(from.position)) return false;
    return toMs - fromMs >= (blocks * averageBlockTimeMs) / maxGrowthFactor;
  }

  /** Reports whether the higher of two endpoints can be right. Without timestamps, true for one that was never seen lower. */
  function isPossible(low: Sighting, high: Sighting, highBefore: Observation | undefined): boolean {
    if (low.position.timestampMs !== null && high.position.timestampMs !== null) return canGrow(low, high);
    return highBefore === undefined || canGrow(highBefore.plausible, high) || canGrow(low, high);
  }

  /** The blocks that come in this time. */
  function blocksSince(ms: number): bigint {
    return BigInt(Math.floor((elapsedMs() - ms) / averageBlockTimeMs));
  }

  function isDistrusted(endpoint: T): boolean {
    return elapsedMs() < (distrusted.get(endpoint) ?? 0);
  }

  function standing(endpoint: T, position: Position): Standing {
    const seen: Sighting = { position, atMs: elapsedMs() };
    const own = observations.get(endpoint);
    const others = [...observations]
      .filter(([other, { atMs }]) => other !== endpoint && atMs >= seen.atMs - freshMs && !isDistrusted(other))
      .map(([, one]) => one);
    const above = others.filter((other) => other.position.number > position.number + toleratedBlocks);
    const below = others.filter((other) => other.position.number + toleratedBlocks < position.number);
    // Nodes may take seconds to answer, while the chain grows.
    const outgrown = below.filter((other) => other.position.number + toleratedBlocks + blocksSince(other.askedAtMs) < position.number);
    if (others.length === 0) {
      if (accepted === null || position.number <= accepted.position.number + toleratedBlocks) return 'level';
      // What a distrusted endpoint showed still limits its own next position.
      if (accepted.by !== endpoint && isDistrusted(accepted.by)) return 'level';
      // The position of an only endpoint counts. If the other endpoints are silent, their next answers can still prove this endpoint wrong.
      const isOnly = [...observations.keys()].every((other) => other === endpoint || isDistrusted(other));
      if (isOnly && accepted.by === endpoint) return 'level';
      return canGrow(accepted, seen) ? 'level' : 'ahead';
    }
    // By the clocks of the service and of all others, its blocks are of the future.
    if (isOfFuture(position) && others.every((other) => other.position.timestampMs !== null && !isOfFuture(other.position))) return 'ahead';
    // Two or more outvote one. Of two alone, the higher one is wrong if the chain cannot have grown so far.
    if (others.length > 1) return above.length * 2 > others.length ? 'behind' : outgrown.length * 2 > others.length ? 'ahead' : 'level';
    const [[higher], [lower]] = [above, below];
    if (isDistrusted(endpoint)) return higher !== undefined ? 'behind' : lower !== undefined ? 'ahead' : 'level';
    if (higher !== undefined) return isPossible(reachedBy(own, seen), higher, higher) ? 'behind' : 'level';
    return lower === undefined || isPossible(lower.reached, seen, own) ? 'level' : 'ahead';
  }

  function note(endpoint: T, { hash, number }: Position): void {
    if (hash === undefined) return;
    const own = heights.get(endpoint) ?? new Map<string, bigint>();
    heights.set(endpoint, own);
    remember(own, hash, number, maxHeights);
  }

  return {
    standing,
    isDistrusted,
    wordsAbout(endpoint, { number, hash = '', parentHash }) {
      return [...heights].flatMap(([by, shown]): Word<T>[] => {
        if (by !== endpoint && isDistrusted(by)) return [];
        const [same, parent] = [shown.get(hash), shown.get(parentHash ?? '')];
        if (parent !== undefined && parent >= number) return [{ by, hash: parentHash ?? '', number: parent, fits: false }];
        return same === undefined ? [] : [{ by, hash, number: same, fits: same === number }];
      });
    },
    distrust(endpoint) {
      distrusted.set(endpoint, elapsedMs() + distrustedForMs);
      observations.delete(endpoint);
      heights.delete(endpoint);
    },
    accept(endpoint, position) {
      accepted = { by: endpoint, position, atMs: elapsedMs() };
    },
    hasReached(endpoint, other) {
      const height = observations.get(endpoint)?.position.number;
      return height !== undefined && height >= (observations.get(other)?.position.number ?? 0n);
    },
    record(endpoint, position, askedAtMs = elapsedMs()) {
      const atMs = elapsedMs();
      const isBehind = standing(endpoint, position) === 'behind';
      const before = observations.get(endpoint);
      const behindSinceMs = isBehind ? (before?.behindSinceMs ?? atMs) : null;
      const seen = { position, atMs };
      note(endpoint, position);
      const plausible = before === undefined || canGrow(before.plausible, seen) ? seen : before.plausible;
      observations.set(endpoint, { ...seen, askedAtMs, reached: reachedBy(before, seen), plausible, behindSinceMs });
      return behindSinceMs !== null && atMs - behindSinceMs > blockTimesUntilLagging * averageBlockTimeMs;
    },
  };
}

/** The first sighting of the height that an endpoint shows now. */
function reachedBy(before: Observation | undefined, seen: Sighting): Sighting {
  return before?.position.number === seen.position.number ? before.reached : seen;
}
