import type { Clock } from './clock.js';

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
 * Creates one bucket per key, full at first and refilled evenly. `limitsNow` returns the limits that apply now: a bucket above its new
 * burst loses the rest, and one below fills up to it.
 *
 * Full buckets are dropped, since a new one is the same. So memory holds only keys that asked within twice the time that an empty bucket
 * takes to fill.
 */
export function createTokenBuckets(limitsNow: () => TokenBucketLimits, clock: Clock): TokenBuckets {
  const buckets = new Map<string, Bucket>();
  let sweptAtMs = clock.nowMs();

  /** A clock that is set back adds nothing and removes nothing. */
  function levelAt({ level, atMs }: Bucket, nowMs: number, { perSecond, burst }: TokenBucketLimits): number {
    return Math.min(burst * oneToken, level + Math.max(0, nowMs - atMs) * perSecond);
  }

  function dropFullBuckets(nowMs: number, limits: TokenBucketLimits): void {
    const full = limits.burst * oneToken;
    if (Math.abs(nowMs - sweptAtMs) < Math.ceil(full / limits.perSecond)) return;
    sweptAtMs = nowMs;
    for (const [keyId, bucket] of buckets) {
      if (levelAt(bucket, nowMs, limits) === full) buckets.delete(keyId);
    }
  }

  return {
    take(keyId) {
      const nowMs = clock.nowMs();
      const limits = limitsNow();
      const { perSecond } = limits;
      const full = limits.burst * oneToken;
      dropFullBuckets(nowMs, limits);
      const known = buckets.get(keyId);
      const before = known === undefined ? full : levelAt(known, nowMs, limits);
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
