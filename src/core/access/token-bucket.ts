import type { Clock } from '../ports/clock.js';

/** The limits of each key's bucket. */
export interface TokenBucketLimits {
  /** Tokens added per second; at least 1. */
  readonly perSecond: number;
  /** Tokens in a full bucket; at least 1. */
  readonly burst: number;
}

/** The result of taking a token. */
export interface Taken {
  /** False: the bucket was empty and no token was taken. */
  readonly allowed: boolean;
  /** Whole tokens that are left. */
  readonly remaining: number;
  /** Time until a token is available; 0 if one is. */
  readonly nextAfterMs: number;
  /** Time until the bucket is full again. */
  readonly fullAfterMs: number;
}

/** The buckets of all keys. */
export interface TokenBuckets {
  /** Takes one token of this key, if there is one. */
  take(keyId: string): Taken;
  /** The number of buckets in memory. */
  readonly size: number;
}

/** `level` is in thousandths of a token, so that the tokens added per millisecond are a whole number and rounding loses nothing. */
interface Bucket {
  level: number;
  atMs: number;
}

const oneToken = 1000;

/**
 * Creates one bucket per key, full at first and refilled evenly.
 *
 * Full buckets are dropped, since a new one is the same. So memory holds only keys that asked within twice the time that an empty bucket
 * takes to fill.
 */
export function createTokenBuckets({ perSecond, burst }: TokenBucketLimits, clock: Clock): TokenBuckets {
  const full = burst * oneToken;
  const fillMs = Math.ceil(full / perSecond);
  const buckets = new Map<string, Bucket>();
  let sweptAtMs = clock.nowMs();

  /** A clock that is set back adds nothing and removes nothing. */
  function levelAt({ level, atMs }: Bucket, nowMs: number): number {
    return Math.min(full, level + Math.max(0, nowMs - atMs) * perSecond);
  }

  function dropFullBuckets(nowMs: number): void {
    if (Math.abs(nowMs - sweptAtMs) < fillMs) return;
    sweptAtMs = nowMs;
    for (const [keyId, bucket] of buckets) {
      if (levelAt(bucket, nowMs) === full) buckets.delete(keyId);
    }
  }

  return {
    take(keyId) {
      const nowMs = clock.nowMs();
      dropFullBuckets(nowMs);
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
