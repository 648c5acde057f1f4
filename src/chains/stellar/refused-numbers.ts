import { xdr } from '@stellar/stellar-sdk';
import type { BroadcastOutcome } from '../../core/ports/chain/outcomes.js';
import type { DurationClock } from '../../core/work/clock.js';
import { remember } from '../../core/work/remember.js';
import { accountOf } from './address.js';
import type { Broadcaster } from './broadcast.js';
import { identityOf } from './envelope.js';

/**
 * The sequence numbers that nodes refuse. An endpoint can show that a number is the next one for as long as it likes, but what is sent with
 * it is refused: by the other endpoints, and by the nodes behind that endpoint, too.
 */
export interface RefusedNumbers {
  /** Takes in the answers to envelopes, in the same order. Calls no node. */
  note(raws: readonly string[], outcomes: readonly BroadcastOutcome[]): void;
  /** True if several endpoints have refused the number for a minute, and none has taken it. */
  has(address: string, sequence: bigint): boolean;
}

/** A node that lags for a moment refuses a number that is right. */
const refusedForMs = 60_000;
const maxNumbers = 10_000;

/** Creates an empty memory. */
export function createRefusedNumbers(
  { refusalOf }: Pick<Broadcaster, 'refusalOf'>,
  networkId: Buffer,
  clock: DurationClock,
): RefusedNumbers {
  /** Since when a number is refused. */
  const refused = new Map<string, number>();
  return {
    note(raws, outcomes) {
      for (const [index, raw] of raws.entries()) {
        const kind = outcomes[index]?.kind;
        if (kind !== 'nonce_used' && refused.size === 0) continue;
        const { address, sequence } = identityOf(xdr.TransactionEnvelope.fromXdr(raw, 'base64'), networkId);
        const key = `${accountOf(address)}/${sequence}`;
        if (kind === 'accepted' || kind === 'known') refused.delete(key);
        else if (!refused.has(key) && refusalOf(raw)?.isBadNumber === true) remember(refused, key, clock.elapsedMs(), maxNumbers);
      }
    },
    has(address, sequence) {
      const sinceMs = refused.get(`${address}/${sequence}`);
      return sinceMs !== undefined && clock.elapsedMs() - sinceMs >= refusedForMs;
    },
  };
}
