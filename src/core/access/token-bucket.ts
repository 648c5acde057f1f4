import type { Clock } from '../ports/clock.js';

/** How much one key may do. */
export interface TokenBucketLimits {
  /** Tokens that come back each second; at least 1. */
  readonly perSecond: number;
  /** Tokens of a full bucket; at least 1. */
  readonly burst: number;
}

/** What came of asking for a token. */
export interface Taken {
  /** False: there was none, and none was taken. */
  readonly allowed: boolean;
  /** Whole tokens that are left. */
  readonly remaining: number;
  /** Until there is a token to take: 0 where there is one. */
  readonly nextAfterMs: number;
  /** Until the bucket is full again. */
  readonly fullAfterMs: number;
}

/** The buckets of all keys. */
export interface TokenBuckets {
  /** Takes one token of this key, if there is one. */
  take(keyId: string): Taken;
  /** Buckets that are remembered. */
  readonly size: number;
}

/** Thousandths of a token, so that what comes back in a millisecond is a whole number and nothing is lost by rounding. */
interface Bucket {
  level: number;
  atMs: number;
}

const oneToken = 1000;

/**
 * Makes one token bucket for each key that asks: full at first, refilled evenly. Full buckets are forgotten, since a new one is the same, so
 * no more are remembered than keys that asked within twice the time that an empty bucket takes to fill.
 */
export function createTokenBuckets({ perSecond, burst }: TokenBucketLimits, clock: Clock): TokenBuckets {
  const full = burst * oneToken;
  const fillMs = Math.ceil(full / perSecond);
  const buckets = new Map<string, Bucket>();
  let sweptAtMs = clock.nowMs();

  /** A clock that is set back takes nothing away and brings nothing. */
  function levelAt({ level, atMs }: Bucket, nowMs: number): number {
    return Math.min(full, level + Math.max(0, nowMs - atMs) * perSecond);
  }

  function forgetFullOnes(nowMs: number): void {
    if (Math.abs(nowMs - sweptAtMs) < fillMs) return;
    sweptAtMs = nowMs;
    for (const [keyId, bucket] of buckets) {
      if (levelAt(bucket, nowMs) === full) buckets.delete(keyId);
    }
  }

  return {
    take(keyId) {
      const nowMs = clock.nowMs();
      forgetFullOnes(nowMs);
      const known = buckets.get(keyId);
      const before = known === undefined ? full : levelAt(known, nowMs);
      const allowed = before >= oneToken;
      const level = allowed ? before - oneToken : before;
      buckets.set(keyId, { level, atMs: nowMs });
      return {
        allowed,
        remaining: Math.floor(level / oneToken),
        nextAfterMs: Math.ceil(Math.max(0, oneToken - level) / perSecond),
        fullAfterMs: Math.ceil((full - level) / perSecond),
      };
    },
    get size() {
      return buckets.size;
    },
  };
}
