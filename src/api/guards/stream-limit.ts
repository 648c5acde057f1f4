import { DomainError } from '../../core/errors/errors.js';
import type { Principal } from '../../core/records/principal.js';

/** The most streams that may be open at the same time. */
interface StreamLimits {
  readonly perKey: number;
  readonly perProcess: number;
}

/**
 * Below HTTP/2's limit of 250 streams per connection, so that the watches of one key do not keep its other calls waiting. Callers without a
 * key share the limit of one key.
 */
export const streamLimits: StreamLimits = { perKey: 50, perProcess: 1_000 };

/** Counts a stream in and returns the function that counts it out. Throws `rate_limited` TOO_MANY_STREAMS if there is no room. */
export type OpenStream = (principal: Principal | null) => () => void;

/** Creates the limit of open streams. */
export function createStreamLimit({ perKey, perProcess }: StreamLimits): OpenStream {
  const open = new Map<string | null, number>();
  let total = 0;
  return (principal) => {
    const key = principal?.keyId ?? null;
    const own = open.get(key) ?? 0;
    if (own >= perKey) throw tooMany(key === null ? 'callers without an API key have' : 'the key has', perKey);
    if (total >= perProcess) throw tooMany('the service has', perProcess);
    open.set(key, own + 1);
    total += 1;
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      total -= 1;
      const left = (open.get(key) ?? 1) - 1;
      if (left === 0) open.delete(key);
      else open.set(key, left);
    };
  };
}

function tooMany(who: string, limit: number): DomainError {
  const sentence = `${who} ${limit} open streams, the maximum; end one before you open another`;
  return new DomainError('rate_limited', 'TOO_MANY_STREAMS', sentence, { metadata: { limit: String(limit) } });
}
