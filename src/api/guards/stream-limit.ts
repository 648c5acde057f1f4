import { DomainError } from '../../core/errors/errors.js';
import type { Principal } from '../../core/records/principal.js';
import { limitedAddress } from '../../core/text/address-ranges.js';

/** The most streams that may be open at the same time. */
interface StreamLimits {
  /** Of one key, or of one address without a key. */
  readonly perKey: number;
  /** Of one connection without a key. */
  readonly perConnection: number;
  readonly perProcess: number;
}

/**
 * Below HTTP/2's limit of 250 streams per connection, so that the watches of one key do not keep its other calls waiting. A caller without
 * a key can only watch the health, for which one stream is enough.
 */
export const streamLimits: StreamLimits = { perKey: 50, perConnection: 4, perProcess: 1_000 };

/** Counts all streams of callers without a key, which may hold half of the places. */
const withoutKey = 'without a key';

/** A caller may hold the part `1 / share` of the places that are free: so some remain for others, however many callers there are. */
const share = 4;

/** A caller that opens a stream. */
export interface StreamCaller {
  readonly principal: Principal | null;
  readonly address: string | null;
  /** The same object for all calls on a connection. */
  readonly connection: object;
}

/** Counts a stream in and returns the function that counts it out. Throws `rate_limited` TOO_MANY_STREAMS if there is no room. */
export type OpenStream = (caller: StreamCaller) => () => void;

/** Creates the limit of open streams. */
export function createStreamLimit({ perKey, perConnection, perProcess }: StreamLimits): OpenStream {
  const open = new Map<string | object, number>();
  let total = 0;
  const add = (owner: string | object, change: 1 | -1): void => {
    const left = (open.get(owner) ?? 0) + change;
    if (left === 0) open.delete(owner);
    else open.set(owner, left);
  };
  return ({ principal, address, connection }) => {
    const owner = principal === null ? `address ${limitedAddress(address ?? '')}` : `key ${principal.keyId}`;
    const own = open.get(owner) ?? 0;
    if (own >= perKey) throw tooMany(principal === null ? 'callers without an API key at this address have' : 'the key has', perKey);
    if (principal === null && (open.get(connection) ?? 0) >= perConnection) {
      throw tooMany('callers without an API key on this connection have', perConnection);
    }
    if (principal === null && (open.get(withoutKey) ?? 0) >= Math.floor(perProcess / 2)) {
      throw tooMany('callers without an API key have', Math.floor(perProcess / 2));
    }
    if (own >= Math.ceil((perProcess - total) / share)) {
      throw tooMany(own === 0 ? 'the service has' : 'the service is busy and this caller has', own === 0 ? perProcess : own);
    }
    const owners = principal === null ? [owner, connection, withoutKey] : [owner];
    for (const one of owners) add(one, 1);
    total += 1;
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      total -= 1;
      for (const one of owners) add(one, -1);
    };
  };
}

function tooMany(who: string, limit: number): DomainError {
  const sentence = `${who} ${limit} open streams, the maximum; end one before you open another`;
  return new DomainError('rate_limited', 'TOO_MANY_STREAMS', sentence, { metadata: { limit: String(limit) } });
}
