import { DomainError } from '../../core/errors/errors.js';
import type { Relayer } from '../../core/records/relayer.js';
import type { LaneContext } from './lane-context.js';

/** Maximum number of transactions that wait to be signed. */
export const maxWaiting = 10_000;

/**
 * Maximum size of the content and bytes of signed transactions, which stay in memory until they are final. At this size the lane signs
 * nothing.
 */
const maxHeldCharacters = 64 * 1024 * 1024;
/** The maximum number of unsequenced transactions that no block shows: nodes report this many in one call. */
const maxUnsequenced = 256;
/** The maximum number together with those in blocks that are not final. On Solana a block is final after 13 s. */
const maxUnsequencedOpen = 4_096;

/** True if the signed transactions have reached their memory limit. */
export function isMemoryFull({ transactions }: LaneContext): boolean {
  return transactions.heldCharacters() >= maxHeldCharacters;
}

function isNonceDoubted({ numbers, doubts }: LaneContext): boolean {
  return numbers.doubted !== null || doubts.sentence() !== null;
}

/** How many transactions may take a nonce now. */
export function slotsLeft(lane: LaneContext): number {
  if (lane.chain.sequence === null || isNonceDoubted(lane)) return 0;
  // Slots that the chain shows as used and that are not explained yet take no room from others.
  return lane.inFlightLimit.current() - lane.transactions.inFlightCount() + lane.transactions.inFlightBelow(lane.numbers.onChain);
}

/** How many unsequenced transactions may be signed now. */
export function unsequencedLeft({ chain, transactions }: LaneContext): number {
  if (chain.unsequenced === null) return 0;
  return Math.min(maxUnsequenced - transactions.unminedUnsequencedCount(), maxUnsequencedOpen - transactions.unsequencedCount());
}

/** Why no unsequenced transaction may be signed now; null: one may be. */
export function whyNoUnsequenced(lane: LaneContext): string | null {
  if (unsequencedLeft(lane) > 0) return null;
  return lane.transactions.unminedUnsequencedCount() >= maxUnsequenced
    ? `${maxUnsequenced} transactions of the account are in flight; will send when one is mined or has ended`
    : `${maxUnsequencedOpen} transactions of the account are not final; will send when one is`;
}

/**
 * Makes `Lanes.takeRoom` of a lane. `waitingCount`: how many of its transactions wait to be signed and are stored.
 */
export function createRoom(relayer: () => Pick<Relayer, 'id'>, waitingCount: () => number): (count: number) => () => void {
  let beingStored = 0;
  return (count) => {
    if (waitingCount() + beingStored + count > maxWaiting) throw noRoom(relayer());
    beingStored += count;
    return () => {
      beingStored -= count;
    };
  };
}

function noRoom({ id }: Pick<Relayer, 'id'>): DomainError {
  const sentence = `the relayer has ${maxWaiting} transactions that wait to be signed, the maximum; retry later, or cancel some`;
  return new DomainError('rate_limited', 'TOO_MANY_TRANSACTIONS', sentence, { metadata: { relayer_id: id, limit: String(maxWaiting) } });
}
