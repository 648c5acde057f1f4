import { DomainError } from '../../core/errors/errors.js';
import type { Room } from '../../core/ports/lanes.js';
import type { Relayer } from '../../core/records/relayer.js';
import type { LaneContext } from './lane-context.js';

/** Maximum number of transactions that wait to be signed, and need no approval, or have all. */
export const maxToSign = 10_000;
/**
 * Maximum number of transactions that wait for approvals. They have no share in the maximum of the others: people may take days, and a
 * caller whose content needs approvals must not stop other callers.
 */
export const maxToApprove = 1_000;

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

/** Makes `Lanes.takeRoom` of a lane. `stored`: how many of its transactions are not signed and are stored. */
export function createRoom(relayer: () => Pick<Relayer, 'id'>, stored: () => Room): (wanted: Room) => () => void {
  const beingStored = { toSign: 0, toApprove: 0 };
  return (wanted) => {
    const { toSign, toApprove } = stored();
    if (wanted.toSign > 0 && toSign + beingStored.toSign + wanted.toSign > maxToSign) throw noRoomToSign(relayer());
    if (wanted.toApprove > 0 && toApprove + beingStored.toApprove + wanted.toApprove > maxToApprove) throw noRoomToApprove(relayer());
    beingStored.toSign += wanted.toSign;
    beingStored.toApprove += wanted.toApprove;
    return () => {
      beingStored.toSign -= wanted.toSign;
      beingStored.toApprove -= wanted.toApprove;
    };
  };
}

function noRoomToSign({ id }: Pick<Relayer, 'id'>): DomainError {
  const sentence = `the relayer has ${maxToSign} transactions that wait to be signed, the maximum; retry later, or cancel some`;
  return new DomainError('rate_limited', 'TOO_MANY_TRANSACTIONS', sentence, { metadata: { relayer_id: id, limit: String(maxToSign) } });
}

function noRoomToApprove({ id }: Pick<Relayer, 'id'>): DomainError {
  const sentence = `the relayer has ${maxToApprove} transactions that wait for approvals, the maximum; approve, reject or cancel some, or retry later`;
  return new DomainError('rate_limited', 'TOO_MANY_TRANSACTIONS', sentence, { metadata: { relayer_id: id, limit: String(maxToApprove) } });
}
