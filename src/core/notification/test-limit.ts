import { DomainError } from '../errors/errors.js';
import type { Clock } from '../work/clock.js';
import { createTokenBuckets } from '../work/token-bucket.js';

/** Takes a test of this notification. Throws `rate_limited` RATE_LIMITED if there were too many. */
export type TestLimit = (notificationId: string) => void;

const ofEach = { perSecond: 1, burst: 10 };
const ofAll = { perSecond: 10, burst: 100 };

/**
 * Creates the limit of test deliveries, per notification and for all: without it, tests would fill the outbox and delay other deliveries.
 */
export function createTestLimit(clock: Clock): TestLimit {
  const each = createTokenBuckets(() => ofEach, clock);
  const all = createTokenBuckets(() => ofAll, clock);

  return (notificationId) => {
    const own = each.take(notificationId);
    if (!own.allowed) throw tooMany(`notification ${notificationId} is`, ofEach, own.nextAfterMs);
    const shared = all.take('');
    if (!shared.allowed) throw tooMany('all notifications together are', ofAll, shared.nextAfterMs);
  };
}

function tooMany(who: string, { perSecond, burst }: typeof ofEach, nextAfterMs: number): DomainError {
  const retryAfterSeconds = Math.max(1, Math.ceil(nextAfterMs / 1000));
  const sentence = `${who} over the limit of test deliveries (${perSecond} per second, bursts of ${burst}); retry in ${retryAfterSeconds} s`;
  const retryAfterMs = retryAfterSeconds * 1000;
  const metadata = { requests_per_second: String(perSecond), burst: String(burst), retry_after_ms: String(retryAfterMs) };
  return new DomainError('rate_limited', 'RATE_LIMITED', sentence, { metadata, retryAfterMs });
}
