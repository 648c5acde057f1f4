import { xdr } from '@stellar/stellar-sdk';
import type { DurationClock } from '../../core/work/clock.js';
import { remember } from '../../core/work/remember.js';
import { accountOf } from './address.js';
import type { Broadcaster } from './broadcast.js';
import { identityOf } from './envelope.js';

/**
 * The sequence numbers that nodes refuse. An endpoint can show that a number is the next one for as long as it likes, and answer that it
 * takes what is sent with it: other endpoints refuse it, and no ledger includes it.
 */
export interface RefusedNumbers {
  /** Takes in the answers to envelopes. Calls no node. */
  note(raws: readonly string[]): void;
  /** True if an endpoint of several has refused the number for a minute, in which no ledger used it. */
  has(address: string, sequence: bigint): boolean;
}

/** A node that lags for a moment refuses a number that is right. */
const refusedForMs = 60_000;
const maxNumbers = 10_000;

/** Creates an empty memory. */
export function createRefusedNumbers(
  { isNumberDenied }: Pick<Broadcaster, 'isNumberDenied'>,
  networkId: Buffer,
  clock: DurationClock,
): RefusedNumbers {
  /** Since when a number is refused. */
  const refused = new Map<string, number>();
  return {
    note(raws) {
      for (const raw of raws) {
        const isDenied = isNumberDenied(raw);
        if (!isDenied && refused.size === 0) continue;
        const { address, sequence } = identityOf(xdr.TransactionEnvelope.fromXdr(raw, 'base64'), networkId);
        const key = `${accountOf(address)}/${sequence}`;
        if (isDenied && !refused.has(key)) remember(refused, key, clock.elapsedMs(), maxNumbers);
        else if (!isDenied) refused.delete(key);
      }
    },
    has(address, sequence) {
      const sinceMs = refused.get(`${address}/${sequence}`);
      return sinceMs !== undefined && clock.elapsedMs() - sinceMs >= refusedForMs;
    },
  };
}
