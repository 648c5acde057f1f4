import type { Principal } from '../../core/access/principal.js';
import { createTokenBuckets, type TokenBucketLimits } from '../../core/access/token-bucket.js';
import { DomainError } from '../../core/errors.js';
import type { Clock } from '../../core/ports/clock.js';
import type { Header } from '../http/header.js';

/** Takes a token of the caller's key, adds what the answer says of it to `headers`, and throws `rate_limited` RATE_LIMITED where there was none. */
export type RateLimit = (principal: Principal, headers: Header[]) => void;

/**
 * Makes the limit: one token bucket for each key. Null where `perSecond` is 0, which is no limit.
 *
 * The headers are those of draft-ietf-httpapi-ratelimit-headers-10: `t` is when the bucket will be full again, which `w` is at most.
 */
export function createRateLimit(limits: TokenBucketLimits, clock: Clock): RateLimit | null {
  const { perSecond, burst } = limits;
  if (perSecond === 0) return null;
  const buckets = createTokenBuckets(limits, clock);
  const policy: Header = ['ratelimit-policy', `"default";q=${burst};w=${Math.ceil(burst / perSecond)}`];
  return ({ keyId }, headers) => {
    const { allowed, remaining, nextAfterMs, fullAfterMs } = buckets.take(keyId);
    headers.push(policy, ['ratelimit', `"default";r=${remaining};t=${secondsOf(fullAfterMs)}`]);
    if (allowed) return;
    const retryAfterSeconds = Math.max(1, secondsOf(nextAfterMs));
    headers.push(['retry-after', String(retryAfterSeconds)]);
    throw new DomainError(
      'rate_limited',
      'RATE_LIMITED',
      `the key is over its rate limit (${perSecond} per second, bursts of ${burst}); retry in ${retryAfterSeconds} s`,
    );
  };
}

function secondsOf(ms: number): number {
  return Math.ceil(ms / 1000);
}
