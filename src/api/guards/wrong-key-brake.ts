import { limitedAddress } from '../../core/text/address-ranges.js';
import type { Clock } from '../../core/work/clock.js';
import { createTokenBuckets } from '../../core/work/token-bucket.js';
import { overRateLimit } from './rate-limit.js';

/** Wrong keys of one address: a rotated key in a caller's configuration stays below. */
const limits = { perSecond: 1, burst: 20 };

/** Counts a wrong key of an address. Throws `rate_limited` RATE_LIMITED if the address sent too many. */
export type BrakeWrongKeys = (address: string | null) => void;

/**
 * Creates the brake. It slows only wrong keys: callers behind one address must not lock each other out, and no number of guesses finds a
 * key of 256 bits.
 */
export function createWrongKeyBrake(clock: Clock): BrakeWrongKeys {
  const buckets = createTokenBuckets(() => limits, clock);
  return (address) => {
    const { allowed, nextAfterMs } = buckets.take(limitedAddress(address ?? ''));
    if (!allowed) throw overRateLimit('the address sent too many wrong keys and', limits, nextAfterMs);
  };
}
