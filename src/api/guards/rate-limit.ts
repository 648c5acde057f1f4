import { DomainError } from '../../core/errors/errors.js';
import type { Principal } from '../../core/records/principal.js';
import type { Clock } from '../../core/work/clock.js';
import { createTokenBuckets, type TokenBucketLimits } from '../../core/work/token-bucket.js';
import type { Header } from '../http/header.js';

/** Takes a token of the caller's key and adds the rate-limit headers. Throws `rate_limited` RATE_LIMITED if there is no token. */
export type RateLimit = (principal: Principal, headers: Header[]) => void;

/**
 * Creates the limit: one token bucket per key. Null if `perSecond` is 0, which means no limit. `instances` returns the number of instances
 * that share the database: each allows its part of the limits, and at least 1, because it does not know what the others allow.
 *
 * The headers follow draft-ietf-httpapi-ratelimit-headers-10: `t` is the time until the bucket is full, and at most `w`.
 */
export function createRateLimit(limits: TokenBucketLimits, clock: Clock, instances: () => number): RateLimit | null {
  if (limits.perSecond === 0) return null;
  const partOf = (limit: number): number => Math.max(1, Math.floor(limit / Math.max(1, instances())));
  const limitsNow = (): TokenBucketLimits => ({ perSecond: partOf(limits.perSecond), burst: partOf(limits.burst) });
  const buckets = createTokenBuckets(limitsNow, clock);
  return ({ keyId }, headers) => {
    const { perSecond, burst } = limitsNow();
    const policy: Header = ['ratelimit-policy', `"default";q=${burst};w=${Math.ceil(burst / perSecond)}`];
    const { allowed, remaining, nextAfterMs, fullAfterMs } = buckets.take(keyId);
    headers.push(policy, ['ratelimit', `"default";r=${remaining};t=${secondsOf(fullAfterMs)}`]);
    if (allowed) return;
    throw overRateLimit('the key', { perSecond, burst }, nextAfterMs);
  };
}

/** The error of a caller without a token. `who` begins the sentence. */
export function overRateLimit(who: string, { perSecond, burst }: TokenBucketLimits, nextAfterMs: number): DomainError {
  const seconds = Math.max(1, secondsOf(nextAfterMs));
  return new DomainError(
    'rate_limited',
    'RATE_LIMITED',
    `${who} is over its rate limit (${perSecond} per second, bursts of ${burst}); retry in ${seconds} s`,
    {
      metadata: { requests_per_second: String(perSecond), burst: String(burst), retry_after_ms: String(seconds * 1000) },
      retryAfterMs: seconds * 1000,
    },
  );
}

function secondsOf(ms: number): number {
  return Math.ceil(ms / 1000);
}
